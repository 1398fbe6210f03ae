-- The first run at the level after a drift; NULL where the figure changed in one step.
ALTER TABLE changes ADD COLUMN until_digest TEXT;
