// This file predicts the time of a sweep, for sim sweep --dry-run and before long
// sweeps.

package cli

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/study"
)

// maxSampleTime limits the time in which --dry-run computes cells for its prediction. People
// wait for the answer.
const maxSampleTime = 10 * time.Second

// noSamples is the samples of a prediction that uses only stored cells.
var noSamples map[string]*study.Record

// dryRun prints the cells of a sweep and predicts the time of the missing ones. The prediction
// uses the times of stored cells, or else of one computed cell per policy. Nothing is stored.
func (c *command) dryRun(ctx context.Context, plan *study.Plan, flags sweepFlags) error {
	dir := sweepDir(plan, flags)
	store := study.ReadStore(dir)
	store.DropOutdated(requestedMetrics(plan, flags))
	// Print the cells with their state.
	out := bufio.NewWriter(c.stdout)
	for i := range plan.Sweep.Cells {
		state := ""
		if store.Has(plan.Sweep.Cells[i].Key) {
			state = "  (there)"
		}
		fmt.Fprintf(out, "%d  %s%s\n", i+1, plan.Name(i), state)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	// Predict the time from stored cells.
	f, err := plan.Forecast(ctx, store, noSamples)
	if err != nil {
		return err
	}
	// If that is not possible, compute samples. Without any measured time, the prediction is a
	// minimum.
	how, limit := "by the cells that are there", 0.0
	if f.Unknown {
		samples, err := c.computeSamples(ctx, plan, store, flags)
		if err == nil {
			f, err = plan.Forecast(ctx, store, samples)
		}
		if err != nil {
			return err
		}
		how = "by one cell of each policy"
	}
	about := "about "
	if f.Unknown {
		about, limit = "more than ", maxSampleTime.Seconds()
	}
	// Print the prediction.
	total := text.Plural(len(plan.Sweep.Cells), "cell")
	if f.Missing == 0 {
		c.logf("%s, all there: nothing to compute", total)
		return nil
	}
	c.logf("%s, %s to compute: %s%s on %s, %s; they go to %s", total, text.Count(f.Missing), about, text.Roughly(max(f.Wall(flags.workers), limit)),
		text.Plural(flags.workers, "processor"), how, dir)
	return nil
}

// minAnnouncedSeconds is the predicted time in seconds from which a sweep is announced before
// it starts.
const minAnnouncedSeconds = 10

// announce prints the predicted time of a long sweep before it starts. The prediction uses the
// times of stored cells, or else an estimate of the cost.
func (c *command) announce(ctx context.Context, plan *study.Plan, store *study.Store, flags sweepFlags) error {
	f, err := plan.Forecast(ctx, store, noSamples)
	if err != nil {
		return err
	}
	if flags.queue != "" {
		flags.workers = 1 // the number of workers is unknown
	}
	// Describe the origin of the prediction.
	how := "by the cells that are there"
	if f.Unknown {
		how = fmt.Sprintf("by some %v", scenarios.Cost{Tasks: f.Cost.Tasks, Hops: f.Cost.Hops})
	}
	if seconds := f.Wall(flags.workers); seconds >= minAnnouncedSeconds {
		c.logf("%s has %s to compute, which takes about %s on %s, %s", plan.Sweep.Name, text.Plural(f.Missing, "cell"), text.Roughly(seconds),
			text.Plural(flags.workers, "processor"), how)
	}
	return nil
}

// computeSamples computes the first missing cell of each policy and returns the records by
// key. Cells that take longer than maxSampleTime are left out.
func (c *command) computeSamples(ctx context.Context, plan *study.Plan, store *study.Store, flags sweepFlags) (map[string]*study.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSampleTime)
	defer cancel()
	// Select one missing cell per policy.
	var todo []int
	seen := map[string]bool{}
	for i := range plan.Sweep.Cells {
		cell := &plan.Sweep.Cells[i]
		if !seen[cell.Policy] && !store.Has(cell.Key) {
			seen[cell.Policy] = true
			todo = append(todo, i)
		}
	}
	// Compute them within the time limit.
	samples := map[string]*study.Record{}
	err := study.LocalRunner(flags.workers)(ctx, plan, todo, func(_ int, r *study.Record) error {
		if r.Failed == "" {
			samples[r.Key] = r
		}
		return nil
	})
	if ctx.Err() == context.DeadlineExceeded {
		// Cells that take longer have no prediction.
		err = nil
	}
	return samples, err
}
