//! `tardy qualify`: is this machine good enough? Checks, measures, judges, and answers YES, NO or NOT YET.

mod answer;
mod decided;
mod prospect;
mod settings;

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::ending::measured;
use crate::measuring::machine::{AccessArguments, find};
use crate::measuring::request::new_request;
use crate::measuring::signals::Signals;
use crate::options::limits::ClaimArguments;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::progress::Progress;
use crate::verb::{Group, Place, Verb};
use account::{Account, ExplanationSource};
use answer::Answer;
use claims::limit::{DISTURBANCE_S, Limit, Requirement};
use clap::{ArgAction, Args};
use decided::Decided;
use judge::verdict::Verdict;
use machines::board::{AccessOptions, Purpose};
use machines::meter_places::MeterPlaces;
use prospect::Prospect;
use report::render_html;
use settings::Settings;
use std::path::PathBuf;
use words::figures::latency;
use words::printable::printable;

/// Decide whether a machine keeps a limit
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct QualifyArguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    claim: ClaimArguments,
    #[command(flatten)]
    access: AccessArguments,
    /// Measure until NO is shown, or for as long as YES takes without a late wake-up
    #[arg(long, conflicts_with = "duration", help_heading = "Measurement")]
    until_decided: bool,
    /// Print help with the options that most people use
    #[arg(short, long, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print help with every option
    #[arg(long, action = ArgAction::HelpLong)]
    help_all: Option<bool>,
}

impl Verb for QualifyArguments {
    const NAME: &'static str = "qualify";
    const PLACE: Place = Place::Listed(Group::Measure);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy qualify --interval 1ms --limit 100us --load messaging --duration 60s",
        "tardy qualify --limit 100us --allow 1/h --load messaging --until-decided",
        "tardy qualify --target board --limit 100us --load messaging --duration 1h",
    ];
    const NOTES: &'static str = "\
The jitter of a periodic task is how late its wake-ups are: --limit bounds it.
Exit codes: 0 YES, 1 NO, 2 wrong usage, 3 no verdict, 4 NOT YET.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }
}

fn run(arguments: &QualifyArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let known = find(&arguments.run.target)?;
    let mut settings = arguments.run.settings(known.is_in_virtual_time()).map_err(UsageError::from)?;
    let Some(limit_ns) = settings.limit_ns else {
        return Err(UsageError("name the limit that wake-ups must keep, such as --limit 100us".into()).into());
    };
    if known.is_local() {
        arguments.run.check_cpus_of_this_machine()?;
    }
    let limit = arguments.claim.on_latency(limit_ns);
    let prospect = Prospect::of(&limit, settings.interval_ns, arguments.claim.confidence());
    if arguments.until_decided {
        settings.duration_ns = Some(prospect.needed_ns().ok_or_else(|| {
            UsageError("no measurement is long enough for YES; allow a rate, such as --allow 1/h".into())
        })?);
    }
    let showing = arguments.run.output.showing();
    let speaks = !(showing.json || showing.quiet);
    if speaks {
        prospect.lay_out(settings.duration_ns, Page::for_stdout()).print()?;
    }
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let access = AccessOptions { deploy: None, ..arguments.access.options(Purpose::Run) };
    let mut target = known.open(&meter, access, signals.requests().clone())?;
    let request = new_request(&known, &arguments.run.output, command, meter, settings)?;
    let settings = match known.is_in_virtual_time() {
        true => Settings::of_virtual_time(),
        false => settings::checked(target.as_mut(), &request),
    };
    let mut progress = Progress::new(arguments.run.output.view(), &request.settings);
    let mut decided = arguments.until_decided.then(|| Decided::of(&request.directory, &limit, &arguments.claim));
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| {
        progress.event(&event);
        if decided.as_mut().is_some_and(|decided| decided.shows_no(&event)) {
            decided = None;
            signals.requests().request();
        }
    });
    let (_, run) = measured(outcome, &signals, &mut progress)?;
    let account = Account::of(run, ExplanationSource::Traces);
    account.explain(&mut |done, total| progress.explaining(done, total));
    progress.clear();
    if let Err(error) = account.save_explanations() {
        complain!("tardy: {}", printable(&error.to_string()));
    }
    let answer = answered(arguments, &limit, &account, settings)?;
    if showing.json {
        json::print(&answer)?;
    } else if showing.quiet {
        let mut page = Page::for_stdout();
        page.line(answer.verdict_word());
        page.print()?;
    } else {
        answer.lay_out(Page::for_stdout()).print()?;
    }
    Ok(answer.exit())
}

/// The limit for 99 of 100 wake-ups.
fn most_of(limit: &Limit) -> Option<Limit> {
    let Requirement::Latency { latest_ns } = limit.requirement else { return None };
    let requirement = Requirement::Quantile { q: 0.99, latest_ns, disturbance_s: DISTURBANCE_S };
    Some(Limit { text: format!("p99 <= {}", latency(latest_ns)), requirement, allow: None })
}

/// The answer, with the report page that it names.
fn answered(
    arguments: &QualifyArguments,
    limit: &Limit,
    account: &Account,
    settings: Settings,
) -> anyhow::Result<Answer> {
    let accepted = arguments.claim.accepted();
    let judged = |limit: Limit| account.judge(&[limit], arguments.claim.confidence(), &accepted).remove(0);
    let judgement = match judged(limit.clone()) {
        // A short run may lie within one occasion, but no machine keeps the limit that does not keep it 99 times of 100.
        undecided if undecided.verdict == Verdict::NotEnoughData => {
            most_of(limit).map(judged).filter(|weaker| weaker.verdict == Verdict::Fail).unwrap_or(undecided)
        }
        decided => decided,
    };
    let html = render_html(&account.report_data(), std::slice::from_ref(&judgement));
    let page: PathBuf = archives::write_document(None, &account.run().directory, "report.html", html.as_bytes())?;
    Ok(Answer::of(judgement, account, settings, page))
}
