// This file defines sim sweep. Files sweep_flags.go and sweep_dryrun.go belong to it.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/plots/chart"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// maxCellsWithoutYes is the number of cells above which a sweep requires --yes, because a
// mistyped range can easily produce millions.
const maxCellsWithoutYes = 100_000

// sweepCommand returns the definition of sim sweep.
func (c *command) sweepCommand() *cli.Command {
	return &cli.Command{
		Name:      "sweep",
		Usage:     "run a scenario for all combinations of values of its keys, and store each finished cell",
		ArgsUsage: "FILE",
		Description: describe("A cell is one scenario under one policy. The table [sweep] of FILE lists the keys to vary, and so do\n"+
			"--set key=a,b,c and --set key=1..8. Stored cells are not computed again: an interrupted sweep continues\n"+
			"if the same command runs again. With --join, all processes that run the same command on machines with a\n"+
			"shared directory divide the cells among them. With --queue, the workers need no shared directory.",
			example{"sim sweep delta-fig6", "a built-in study (see sim list studies)"},
			example{"sim sweep gpt7b --set seed=1..8", "any scenario for several values of a key"},
			example{"sim sweep gpt7b --set fabric.port_bandwidth=100Gbps,200Gbps --metric makespan_s", "another metric in the table"},
			example{"sim sweep delta-fig6 --dry-run", "list the cells and predict the computing time"},
			example{"sim sweep delta-fig6 --join --out /shared/fig6", "on each of several machines, which share the cells"}),
		Flags: sweepFlagList(),
		Action: func(cc *cli.Context) error {
			flags, err := c.readSweepFlags(cc)
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
			args := cc.Args().Slice()
			if len(args) != 1 {
				return usagef("sim sweep needs one scenario FILE, not %d; sim list studies lists the built-in studies", len(args))
			}
			return c.sweep(cc.Context, args[0], set, flags)
		},
	}
}

// sweep computes the missing cells of a study, stores each of them, and finishes the sweep if
// all are stored. file is the study or scenario.
func (c *command) sweep(ctx context.Context, file string, overrides []string, flags sweepFlags) error {
	// List and check the cells before anything is written.
	begun := c.now()
	st, plan, err := c.plan(ctx, file, overrides, flags)
	if err != nil {
		return err
	}
	dir := sweepDir(plan, flags)
	claim := plan.Claim()
	claim.Force = flags.force
	if err := study.CheckDir(dir, claim); err != nil {
		return err
	}

	// Check the directories for the outputs of cells. With a queue, its workers have the directories.
	if flags.queue == "" {
		var noRun *result.Dir // a sweep has no run directory
		if err := checkOutputDirs(flags.dirs, noRun); err != nil {
			return err
		}
	}
	if flags.dryRun {
		return c.dryRun(ctx, plan, flags)
	}

	// Select the runner: this process, or the workers of a queue.
	var run study.Runner = study.LocalRunner(flags.workers)
	if flags.queue != "" {
		if run, err = c.queueRunner(plan, flags); err != nil {
			return err
		}
	}

	// Open the directory of the sweep. With --join, all workers of the directory are the runner.
	text, err := st.TOML()
	if err != nil {
		return err
	}
	manifest := c.manifest(st.Name, plan.Sweep.Digest, begun, begun)
	manifest.Arguments = withoutSecrets(c.args)
	var store *study.Store
	if flags.join {
		store, err = study.Join(dir, plan, text, manifest, flags.lease)
	} else {
		store, err = study.Open(dir, plan, text, manifest, flags.force)
	}
	if err != nil {
		return err
	}
	if flags.join {
		run = store.Joined(flags.workers)
	}

	// From here on, an interrupt loses only unfinished cells.
	c.cleanup.setResultNote("the cells that were finished are kept, and the same command goes on from there")
	err = c.computeCells(ctx, plan, store, run, begun, flags)
	if e := store.Close(); err == nil {
		err = e
	}
	return err
}

// plan returns the cells of a study. It reports all errors that can be found before anything
// is computed.
func (c *command) plan(ctx context.Context, file string, overrides []string, flags sweepFlags) (*scenarios.Study, *study.Plan, error) {
	// Check the first variant and the number of cells before all variants.
	st, err := scenarios.LoadStudy(file, overrides)
	if err != nil {
		return nil, nil, err
	}
	first, err := st.Variant(0)
	if err != nil {
		return nil, nil, err
	}
	c.warn(first)
	if n := st.Variants(); n > maxCellsWithoutYes/max(1, len(first.PolicyNames())) && !flags.yes {
		return nil, nil, usagef("%s has about %s cells (%s variants of %s); confirm with --yes",
			st.Name, text.Thousands(float64(n)*float64(len(first.PolicyNames()))), text.Count(n), text.Plural(len(first.PolicyNames()), "policy", "policies"))
	}
	if err := st.SetOutputDirs(flags.dirs); err != nil {
		return nil, nil, err
	}
	plan, err := study.NewPlan(ctx, st)
	if err != nil {
		return nil, nil, err
	}

	// Check the plots of the study, so that errors appear before anything is computed.
	if len(flags.formats) > 0 {
		for i := range st.Plots {
			if err := chart.Check(&st.Plots[i], &plan.Sweep); err != nil {
				return nil, nil, usagef("%s: %v", file, err)
			}
		}
	}
	// Check the metrics that the table and the figures will show.
	if asked := study.ReadStore(sweepDir(plan, flags)).UnknownMetric(requestedMetrics(plan, flags)); asked != nil {
		return nil, nil, usagef("%s: there is no metric %q%s", asked.Source, asked.Name,
			text.DidYouMean(asked.Name, metricNames(), "sim list metrics names them"))
	}
	return st, plan, nil
}

// computeCells computes the cells that store does not contain, and finishes the sweep when all
// are stored.
func (c *command) computeCells(ctx context.Context, plan *study.Plan, store *study.Store, run study.Runner, begun time.Time, flags sweepFlags) error {
	for _, w := range store.Warnings {
		c.logf("%s", w)
	}

	// Reuse the finished cells of earlier sweeps with the same name.
	earlier, err := filepath.Glob(filepath.Join(filepath.Dir(store.Dir), unsafeInPath.ReplaceAllString(plan.Sweep.Name, "-")+"-*"))
	if err != nil {
		return err
	}
	adopted, err := store.Adopt(plan, earlier)
	if err != nil {
		return err
	}
	store.DropOutdated(requestedMetrics(plan, flags))
	if n := store.ForeignCells(plan); n > 0 {
		c.logf("warning: %s kept that another build of sim has computed, with models %d; if a changed policy gives other results, raise result.Model or choose another directory with --out",
			text.Plural(n, "cell is", "cells are"), result.Model)
	}
	if adopted > 0 {
		c.logf("%s taken over from earlier sweeps of %s", text.Plural(adopted, "cell"), plan.Sweep.Name)
	}
	if err := c.announce(ctx, plan, store, flags); err != nil {
		return err
	}

	// Predict the remaining time, unless a queue with an unknown number of workers computes.
	var left func() (*study.Forecast, error)
	if flags.queue == "" {
		left = func() (*study.Forecast, error) { return plan.Forecast(ctx, store, noSamples) }
	}
	m, update := c.startSweepProgress(plan.Sweep.Name, flags.workers, left)

	takenOver := 0
	store.OnTakeover = func(cells []int, owner string) {
		takenOver += len(cells)
		for _, i := range cells {
			m.logf("took over cell %d (%s) from %s", i+1, plan.Name(i), owner)
		}
	}

	// Compute the missing cells. Write partial results only after the first new cell and before
	// the last one.
	partial := c.newThrottle(func() error { return store.WritePartial(plan) })
	first := -1 // cells that were stored before; -1 until the first call of Progress
	status, err := study.Execute(ctx, plan, store, study.Options{Run: run, Progress: func(done, total, failed int) {
		if update(done, total, failed); first < 0 {
			first = done
		} else if done > first && done+failed < total {
			partial.callIfAllowed()
		}
	}})
	m.stop()

	// withStatus converts the error of an interrupt into a sweepInterrupt.
	withStatus := func(err error) error {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return &sweepInterrupt{status: status, dir: store.Dir}
		}
		return err
	}
	if err != nil || len(status.Failed) > 0 {
		partial.call()
	}
	for _, i := range status.Failed {
		c.logf("%s failed: %s", plan.Name(i), store.Failure(plan.Sweep.Cells[i].Key))
	}
	if err != nil {
		return withStatus(err)
	}

	// All cells are stored: assemble the sweep, print it and store it.
	doc, timings := plan.Fill(store)
	timings.WallS = c.now().Sub(begun).Seconds()
	writes := true // this worker writes the results
	if flags.join {
		from := ""
		if takenOver > 0 {
			from = fmt.Sprintf(" (%d taken over from others)", takenOver)
		}
		c.logf("%s computed by this worker%s, %d by others or before", text.Plural(status.Computed, "cell"), from, status.Known)
		writes, err = store.AwaitFinish(ctx)
	}
	if err == nil {
		err = c.finishSweep(ctx, store, doc, timings, plan.Study.Plots, flags, writes)
	}
	if err == nil && flags.join && writes {
		store.RemoveLeases()
	}
	if err != nil {
		return withStatus(err)
	}
	if status.Computed == 0 && len(status.Failed) == 0 && !flags.join {
		c.logf("all %s were there already", text.Plural(status.Total, "cell"))
	}
	return failedCellsError(status)
}

// checkMetric returns an error for metrics that figures can show but the table cannot: quotients.
func checkMetric(name string) error {
	const want = "choose a metric of cells, such as nct, or draw a figure"
	// Names of jobs may contain a slash.
	if strings.Contains(name, "/") && !strings.HasPrefix(name, "job.") {
		return usagef("flag --metric: %s is a quotient, which the table does not show; %s", name, want)
	}
	return nil
}

// requestedMetrics returns the metrics that the table and the figures of a sweep will show.
func requestedMetrics(plan *study.Plan, flags sweepFlags) []study.MetricRequest {
	var asked []study.MetricRequest
	if flags.metric != "" {
		asked = append(asked, study.MetricRequest{Source: "flag --metric", Name: flags.metric})
	}
	if len(flags.formats) > 0 {
		asked = append(asked, study.PlotMetrics(plan.Study.Plots)...)
	}
	return asked
}

// failedCellsError returns the error of a sweep with failed cells, or nil.
func failedCellsError(s study.Status) error {
	if len(s.Failed) == 0 {
		return nil
	}
	// The message depends on whether a retry can help.
	what := fmt.Sprintf("%s of %d failed; the others are kept", text.Plural(len(s.Failed), "cell"), s.Total)
	switch s.Unusable {
	case 0:
		return errors.New(what + ", and the same command tries these again")
	case len(s.Failed):
		return usagef("%s, and these fail each time: change the scenario", what)
	}
	return fmt.Errorf("%s, and the same command tries these again; %d fail each time: change the scenario", what, s.Unusable)
}

// sweepInterrupt is the error of an interrupted sweep.
type sweepInterrupt struct {
	status study.Status // progress at the interrupt
	dir    string       // directory with the stored cells
}

// Error implements error.
func (e *sweepInterrupt) Error() string {
	return fmt.Sprintf("interrupted after %d of %d cells, which are kept in %s; the same command goes on from there",
		e.status.Known+e.status.Computed, e.status.Total, e.dir)
}

// Unwrap makes the error match context.Canceled.
func (e *sweepInterrupt) Unwrap() error { return context.Canceled }

// finishSweep prints the results of a complete sweep. It also stores them, with their figures,
// if writes is true; with --join, one of the workers does.
func (c *command) finishSweep(ctx context.Context, store *study.Store, doc *result.Sweep, timings *result.SweepTimings, plots []result.Plot, flags sweepFlags, writes bool) error {
	if why := unservedReason(doc); why != "" {
		return usagef("no policy can serve any of %s: %s; change the scenario", text.Plural(len(doc.Cells), "cell"), why)
	}
	if writes {
		if err := store.Finish(doc, timings); err != nil {
			return err
		}
	}

	// Draw the figures. If this fails, the results are printed anyway.
	var drawn error
	if writes && len(flags.formats) > 0 {
		drawn = drawCharts(ctx, filepath.Join(store.Dir, result.PlotsDir), plots, doc, timings, flags.runFlags)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	// Print the document, or else the table.
	if flags.json {
		data, err := result.JSON(doc)
		if err != nil {
			return err
		}
		if _, err := c.stdout.Write(data); err != nil {
			return err
		}
		return drawn
	}

	// Resolve --where against the names of all cells.
	var names []result.Name
	for i := range doc.Cells {
		names = append(names, doc.NameOf(&doc.Cells[i]))
	}
	where, err := flags.where.Resolve(names)
	if err != nil {
		return usagef("flag --where: %v (the cells are kept in %s)", err, store.Dir)
	}
	// Print the table with the selected metric and cells.
	metric, err := report.SweepMetric(doc, plots, flags.metric, where)
	if err != nil {
		n := 0
		for i := range doc.Cells {
			if doc.Cells[i].Failed == "" {
				n++
			}
		}
		return usagef("%v (%s kept in %s)", err, text.Plural(n, "cell is", "cells are"), store.Dir)
	}
	if _, err := io.WriteString(c.stdout, report.Sweep(doc, timings, metric, where, store.Dir, c.style())); err != nil {
		return err
	}
	return drawn
}

// unservedReason returns the reason why no policy could serve any cell of a sweep, or "" if a
// cell was served.
func unservedReason(s *result.Sweep) string {
	why := ""
	for i := range s.Cells {
		label := s.Cells[i].Labels["unserved"]
		if label == "" {
			return ""
		}
		if why == "" {
			why = s.Cells[i].Policy + ": " + label
		}
	}
	return why
}

// sweepDir returns the directory of a sweep: --out, or by default a directory below runsRoot.
func sweepDir(p *study.Plan, f sweepFlags) string {
	return cmp.Or(f.out, resultDir(runsRoot, p.Sweep.Name, p.Sweep.Digest))
}
