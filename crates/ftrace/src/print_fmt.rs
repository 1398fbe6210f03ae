//! Events as text for people.
