package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"sim/plots"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

func (c *command) runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run scenarios, print what each policy reached and keep it in a run directory",
		ArgsUsage: "FILE...",
		Description: describe("FILE is a scenario's file, or the name of one that comes with sim (sim list scenarios).",
			example{"sim run deepseek671b", "every policy that the scenario names, kept under runs/"},
			example{"sim run my.toml --policy NAME", "under one policy (sim list allocators)"},
			example{"sim run gpt7b --set fabric.port_bandwidth=800Gbps", "another value of a key (sim list keys fabric.ocs-pods)"},
			example{"sim run gpt7b --out mine --trace mine.json", "kept elsewhere, with a timeline for ui.perfetto.dev"},
			example{"sim run gpt7b --json --no-plots > r.json", "the result as JSON"}),
		Flags: runFlagList(),
		Action: func(cc *cli.Context) error {
			files := cc.Args().Slice()
			if len(files) == 0 {
				return usagef("sim run needs a scenario FILE; sim list scenarios names those that come with sim")
			}
			flags, err := readRunFlags(cc, len(files))
			if err != nil {
				return err
			}
			set, err := overrides(cc)
			if err != nil {
				return err
			}
			jobs, err := c.prepare(files, set, flags)
			defer func() {
				for _, j := range jobs {
					j.abort()
				}
			}()
			if err != nil {
				return err
			}
			var failed errorList
			for _, j := range jobs {
				err := cc.Context.Err() // an interrupt leaves the rest undone
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

// preparedRun is a scenario with the places claimed for its results.
type preparedRun struct {
	scenario *scenarios.Scenario
	dir      *result.Dir
	outputs  outputs
}

// abort removes what of the job is not finished.
func (j *preparedRun) abort() {
	j.outputs.abort() // some may lie in dir
	j.dir.Abort()
}

// prepare loads all files, reporting the faults of all, and claims every place that results will go to. It computes
// nothing. The jobs that it made are returned on failure too, to be aborted.
func (c *command) prepare(files, overrides []string, flags runFlags) (jobs []*preparedRun, err error) {
	list, err := c.loadAll(files, overrides)
	if err != nil {
		return nil, err
	}
	claimed := map[string]string{}
	for i, s := range list {
		if err := checkOutputs(s, flags); err != nil {
			return jobs, err
		}
		if err := s.WriteTo(flags.dirs); err != nil {
			return jobs, err
		}
		place := runDir(s, flags, len(files))
		if other, ok := claimed[place]; ok {
			return jobs, usagef("%s and %s are the same scenario", other, files[i])
		}
		claimed[place] = files[i]
		dir, err := result.Create(place, result.Claim{Scenario: s.Name, Digest: s.Digest(), Force: flags.force})
		if err != nil {
			return jobs, err
		}
		j := &preparedRun{scenario: s, dir: dir}
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

// runPrepared runs a scenario, keeps its results and prints them.
func (c *command) runPrepared(ctx context.Context, j *preparedRun, flags runFlags) error {
	s, begun := j.scenario, c.now()
	m, update, share := c.startRunProgress(s.Name)
	options := scenarios.RunOptions{Workers: flags.workers, Progress: update, Share: share}
	if flags.outputPaths["trace"] != "" {
		options.TimelineTasks = flags.traceTasks
	}
	if len(j.outputs.workloads) > 0 {
		options.Work = j.outputs.fillWorkloads
	}
	outcome, err := c.run(ctx, s, options)
	m.stop()
	if err != nil {
		if errors.Is(err, scenarios.ErrInput) || errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	run := &result.Run{
		Manifest: c.manifest(s.Name, s.Digest(), begun, c.now()),
		Scenario: s.TOML(),
		Document: outcome.Document,
		Timings:  outcome.Timings,
		Detail:   outcome.Detail,
		Files:    outcome.Files,
	}
	run.Manifest.Schema, run.Manifest.Seed = result.ManifestSchema, s.Seed
	if err := j.dir.Write(run); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	drawn := c.drawFigures(ctx, j, run, flags)
	if err := ctx.Err(); err != nil {
		return err
	}
	written := j.outputs.write(c, outcome)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.dir.Commit(); err != nil {
		return err
	}
	c.cleanup.setKeptNote("the run is kept in " + j.dir.Path())
	if err := c.printRun(j, run, flags); err != nil {
		return err
	}
	c.cleanup.setKeptNote("") // of the runs that follow
	failed := []error{drawn, written}
	for _, err := range outcome.Failed { // policies whose simulation came to no end: their rows say so
		failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
	}
	return joinErrors(failed...)
}

// manifest is that of a run or a sweep from one moment to another.
func (c *command) manifest(name, digest string, begun, end time.Time) result.Manifest {
	return result.Manifest{
		Version: result.Version, Revision: result.Revision(), Scenario: name, Digest: digest, Arguments: c.args,
		Start: begun.UTC().Format(time.RFC3339Nano), End: end.UTC().Format(time.RFC3339Nano),
	}
}

// joinErrors returns the errors that are none as one.
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

// drawFigures makes the figures. The numbers are good without them, so the run is kept when it fails.
func (c *command) drawFigures(ctx context.Context, j *preparedRun, r *result.Run, flags runFlags) error {
	if len(flags.formats) == 0 {
		return nil
	}
	figures, err := plots.All(&r.Document, &r.Detail)
	if err == nil {
		err = sheet.WriteAll(ctx, filepath.Join(j.dir.Temp(), result.PlotsDir), flags.formats, figures, flags.workers)
	}
	if err != nil {
		return fmt.Errorf("%s: the results are whole but the figures are not: %w", j.scenario.Name, err)
	}
	return nil
}

// printRun prints the table, or the document with --json.
func (c *command) printRun(j *preparedRun, r *result.Run, flags runFlags) error {
	if !flags.json {
		_, err := io.WriteString(c.stdout, report.Run(r, j.dir.Path(), c.bold()))
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
