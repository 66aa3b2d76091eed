// This file defines sim run: it creates all outputs, runs the scenarios, and stores
// the results.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/plots"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/accuracy"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// runCommand returns the definition of sim run.
func (c *command) runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run scenarios, print the results of each policy and store them in a run directory",
		ArgsUsage: "FILE...",
		Description: describe("FILE is a scenario file or the name of a built-in scenario (sim list scenarios).",
			example{"sim run deepseek671b", "all policies of the scenario, stored under runs/"},
			example{"sim run my.toml --policy a,b", "only the policies a and b (see sim list allocators)"},
			example{"sim run gpt7b --set fabric.port_bandwidth=800Gbps", "another value of a key (see sim list keys fabric.ocs-pods)"},
			example{"sim run gpt7b --out mine --trace mine.json", "stored in another directory, with a timeline for ui.perfetto.dev"},
			example{"sim run gpt7b --json --no-plots > r.json", "the result as JSON"}),
		Flags: runFlagList(),
		Action: func(cc *cli.Context) error {
			files := cc.Args().Slice()
			if len(files) == 0 {
				return usagef("sim run needs a scenario FILE; sim list scenarios lists the built-in ones")
			}
			flags, err := readRunFlags(cc, len(files))
			if err != nil {
				return err
			}
			if err := setBudget(cc); err != nil {
				return err
			}
			set, err := overrides(cc)
			if err != nil {
				return err
			}

			// Create all directories and files first, and remove the unfinished ones at the
			// end.
			jobs, err := c.prepare(files, set, flags)
			defer func() {
				for _, j := range jobs {
					j.abort()
				}
			}()
			if err != nil {
				return err
			}

			// A failed scenario does not prevent the others from running.
			var failed errorList
			for _, j := range jobs {
				// After an interrupt the other scenarios are not run.
				err := cc.Context.Err()
				if err == nil {
					err = c.runPrepared(cc.Context, j, flags)
				}
				if err != nil {
					failed = append(failed, err)
				}
				if cc.Context.Err() != nil && err != nil {
					break
				}
			}
			return joinErrors(failed...)
		},
	}
}

// preparedRun is a scenario whose result directory and output files have been created.
type preparedRun struct {
	scenario  *scenarios.Scenario // the loaded file with its overrides
	file      string
	overrides []string
	dir       *result.Dir // result directory, under a temporary name
	outputs   outputs     // files that flags request
}

// abort removes all unfinished files and directories of the run.
func (j *preparedRun) abort() {
	j.outputs.abort() // first, because output files may be in dir
	j.dir.Abort()
}

// prepare loads all files and creates the result directories and output files, so that errors
// appear before anything is computed. It reports the errors of all files. The returned runs must
// be aborted even if prepare fails; an abort has no effect on committed runs.
func (c *command) prepare(files, overrides []string, flags runFlags) (jobs []*preparedRun, err error) {
	list, err := c.loadAll(files, overrides)
	if err != nil {
		return nil, err
	}
	// claimed maps each result directory to its file.
	claimed := map[string]string{}
	for i, s := range list {
		if err := checkOutputs(s, flags); err != nil {
			return jobs, err
		}
		if err := s.SetOutputDirs(flags.dirs); err != nil {
			return jobs, err
		}

		// Create the directory of the results; two files with the same scenario conflict.
		place := runDir(s, flags, len(files))
		if other, ok := claimed[place]; ok {
			return jobs, usagef("%s and %s are the same scenario", other, files[i])
		}
		claimed[place] = files[i]
		dir, err := result.Create(place, result.Claim{Scenario: s.Name, Digest: s.Digest(), Force: flags.force})
		if err != nil {
			return jobs, err
		}
		j := &preparedRun{scenario: s, file: files[i], overrides: overrides, dir: dir}
		jobs = append(jobs, j)
		c.cleanup.onAbandon(dir.Abort)
		if err := checkOutputDirs(flags.dirs, dir); err != nil {
			return jobs, err
		}
		if err := j.outputs.open(s, files[i], overrides, dir, flags); err != nil {
			return jobs, err
		}
		c.cleanup.onAbandon(j.outputs.abort)
	}
	return jobs, nil
}

// runPrepared runs a scenario, stores its results and prints them. It checks for an interrupt
// before each step that makes results visible.
func (c *command) runPrepared(ctx context.Context, j *preparedRun, flags runFlags) error {
	s, begun := j.scenario, c.now()
	cost, _ := s.Cost(ctx) // 0 without an estimate
	c.announceRun(ctx, j, cost)
	m, update, share := c.startRunProgress(s.Name)

	// Simulate, with the options that the requested outputs need.
	report := func(policy string, done, total int) {
		if update(policy, done, total); done > 0 {
			c.cleanup.requireWait() // for the rows, which keepFinished stores after an interrupt
		}
	}
	options := scenarios.RunOptions{Workers: flags.workers, Progress: report, ReportProgress: share}
	if flags.outputPaths["trace"] != "" {
		options.Timeline = flags.timeline
	}
	if len(j.outputs.workloads) > 0 {
		options.VisitWork = j.outputs.fillWorkloads
	}
	limitGarbage(s, cost)
	outcome, err := c.run(ctx, s, options)
	m.stop()
	if outcome != nil && ctx.Err() != nil {
		return c.keepFinished(j, c.resultOf(s, outcome, begun), flags)
	}
	if err != nil {
		if errors.Is(err, scenarios.ErrInput) || errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("%s: %w", s.Name, err)
	}

	// Write the results, the figures and the requested files to the temporary directory.
	run := c.resultOf(s, outcome, begun)
	if err := j.dir.Write(run); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	drawn := c.drawFigures(ctx, j, run, flags)
	if ctx.Err() != nil {
		return c.keepFinished(j, run, flags)
	}
	written := j.outputs.write(c, outcome)
	if err := ctx.Err(); err != nil {
		return err
	}

	// Move the directory to its final name and print the results.
	if err := j.dir.Commit(); err != nil {
		return err
	}
	c.cleanup.setResultNote("the run is kept in " + j.dir.Path())
	if err := c.printRun(j.dir.Path(), run, flags); err != nil {
		return err
	}

	// The runs that follow begin without a note.
	c.cleanup.setResultNote("")
	failed := []error{drawn, written}
	// Report the policies whose simulation did not finish; their rows contain the reason.
	for _, err := range outcome.PolicyErrors {
		failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
	}
	return joinErrors(failed...)
}

// resultOf returns the result of a scenario whose run began at a time.
func (c *command) resultOf(s *scenarios.Scenario, outcome *scenarios.Outcome, begun time.Time) *result.Run {
	run := &result.Run{
		Manifest: c.manifest(s.Name, s.Digest(), begun, c.now()),
		Scenario: s.TOML(),
		Document: outcome.Document,
		Timings:  outcome.Timings,
		Detail:   outcome.Detail,
		Files:    outcome.Files,
		Evidence: accuracy.Evidence(s.TOML()),
	}
	run.Manifest.Schema, run.Manifest.Seed = result.ManifestSchema, s.Seed
	return run
}

// keepFinished stores and prints the finished rows of an interrupted run, without figures and
// without the files that flags request. A previous run in its directory stays there.
func (c *command) keepFinished(j *preparedRun, run *result.Run, flags runFlags) error {
	c.cleanup.requireWait()
	stopped := &runInterrupt{total: len(run.Document.Rows)}
	for _, r := range run.Document.Rows {
		if r.Labels["failed"] == "" {
			stopped.finished++
		}
	}
	if !j.dir.Replaces() {
		j.outputs.abort()
		if err := os.RemoveAll(filepath.Join(j.dir.Temp(), result.PlotsDir)); err != nil {
			return err
		}
		if err := j.dir.Write(run); err != nil {
			return fmt.Errorf("%s: %w", j.scenario.Name, err)
		}
		if err := j.dir.Commit(); err != nil {
			return err
		}
		stopped.dir = j.dir.Path()
	}
	if err := c.printRun(stopped.dir, run, flags); err != nil {
		return err
	}
	return stopped
}

// runInterrupt is the error of an interrupted run with finished rows.
type runInterrupt struct {
	finished, total int    // rows
	dir             string // directory with the finished rows; empty if a previous run is there
}

// Error implements error.
func (e *runInterrupt) Error() string {
	where := "a previous run stays in its directory"
	if e.dir != "" {
		where = "which are kept in " + e.dir
	}
	missing := "all rows"
	if e.finished == e.total {
		missing = "the figures"
	}
	return fmt.Sprintf("interrupted after %d of %d rows, %s; run the same command for %s", e.finished, e.total, where, missing)
}

// Unwrap makes the error match context.Canceled.
func (e *runInterrupt) Unwrap() error { return context.Canceled }

// manifest returns the manifest of a run or sweep: the version of sim, the command line, and the
// start and end times in UTC.
func (c *command) manifest(name, digest string, begun, end time.Time) result.Manifest {
	return result.Manifest{
		Version: result.Version, Revision: result.Revision(), Scenario: name, Digest: digest, Arguments: c.args,
		Start: begun.UTC().Format(time.RFC3339Nano), End: end.UTC().Format(time.RFC3339Nano),
	}
}

// joinErrors returns the errors that are not nil as one error, or nil.
func joinErrors(errs ...error) error {
	var all errorList
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// drawFigures writes the figures of a run. If this fails, the run is stored anyway, because
// its numbers are valid without them.
func (c *command) drawFigures(ctx context.Context, j *preparedRun, r *result.Run, flags runFlags) error {
	if len(flags.formats) == 0 {
		return nil
	}
	figures, err := plots.All(&r.Document, &r.Detail)
	if err == nil {
		err = sheet.WriteAll(ctx, filepath.Join(j.dir.Temp(), result.PlotsDir), flags.formats, figures, flags.workers)
	}
	if err != nil {
		return fmt.Errorf("%s: the results are complete but the figures are not: %w", j.scenario.Name, err)
	}
	return nil
}

// printRun prints the result table, or the result document with the timings if --json is set. dir
// is the directory of the result; empty if it is not stored.
func (c *command) printRun(dir string, r *result.Run, flags runFlags) error {
	if !flags.json {
		_, err := io.WriteString(c.stdout, report.Run(r, dir, c.style()))
		return err
	}
	doc := r.Document
	doc.Timings = &r.Timings
	data, err := doc.JSON()
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(data)
	return err
}

// announceRun prints the estimated cost of a long simulation before it starts, and names a level
// that is cheaper.
func (c *command) announceRun(ctx context.Context, j *preparedRun, cost scenarios.Cost) {
	if cost.Seconds < minAnnouncedSeconds {
		return
	}
	s, hint := j.scenario, ""
	if cheaper := findCheaperLevel(ctx, j.file, j.overrides, s, cost); cheaper != nil {
		hint = "; " + cheaper.String()
	}
	c.logf("%s: each policy takes about %s%s%s", s.Name, text.Roughly(cost.Seconds), atLevel(s), hint)
}

// limitGarbage makes the garbage collector start earlier if a task graph takes gigabytes. Its arrays
// contain few pointers, so that collections are cheap: a step of 4.9 million tasks then takes 3.3
// instead of 5.1 GB, and as much CPU time. The variable GOGC has precedence.
func limitGarbage(s *scenarios.Scenario, cost scenarios.Cost) {
	const largeBytes, percent = 1e9, 25
	if os.Getenv("GOGC") != "" || s.Engine.Level != "flow" {
		return // the cost of other levels is not known before the system is built
	}
	if cost.Bytes > largeBytes {
		debug.SetGCPercent(percent)
	}
}
