package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"sim/scenarios/sweep"
)

// sampleTime bounds what --dry-run computes for its estimate.
const sampleTime = 10 * time.Second

// dryRun prints the cells that a sweep would compute, and how long that might
// take: by the times of cells that are there, or else of one cell a policy.
func (c *command) dryRun(ctx context.Context, plan *sweep.Plan, flags sweepFlags) error {
	dir := sweepDir(plan, flags)
	store := sweep.Peek(dir)
	out := bufio.NewWriter(c.stdout)
	for i := range plan.Sweep.Cells {
		if !flags.shard.Has(i) {
			continue
		}
		state := ""
		if store.Has(plan.Sweep.Cells[i].Key) {
			state = "  (there)"
		}
		fmt.Fprintf(out, "%d  %s%s\n", i+1, plan.Name(i), state)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, missing, ok := plan.Estimate(store, flags.shard, flags.workers, nil)
	how := "by the cells that are there"
	sample := map[string]float64{}
	if !ok {
		how = "by one cell of each policy"
		var err error
		if sample, err = c.sample(ctx, plan, store, flags); err != nil {
			return err
		}
	}
	seconds, _, ok := plan.Estimate(store, flags.shard, flags.workers, sample)
	total := 0
	for i := range plan.Sweep.Cells {
		if flags.shard.Has(i) {
			total++
		}
	}
	about := "about " + roughly(seconds)
	switch {
	case missing == 0:
		c.say("%s, all there: nothing to compute", plural(total, "cell", "cells"))
		return nil
	case !ok:
		about = fmt.Sprintf("more than %s", roughly(max(seconds, sampleTime.Seconds())))
	}
	c.say("%s, %s to compute: %s on %s, %s; they go to %s", plural(total, "cell", "cells"), count(float64(missing)), about,
		plural(flags.workers, "processor", "processors"), how, dir)
	return nil
}

// sample times the first missing cell of each policy.
func (c *command) sample(ctx context.Context, plan *sweep.Plan, store *sweep.Store, flags sweepFlags) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var todo []int
	seen := map[string]bool{}
	for i := range plan.Sweep.Cells {
		cell := &plan.Sweep.Cells[i]
		if flags.shard.Has(i) && !seen[cell.Policy] && !store.Has(cell.Key) {
			seen[cell.Policy] = true
			todo = append(todo, i)
		}
	}
	times := map[string]float64{}
	err := sweep.Local(flags.workers)(ctx, plan, todo, func(i int, r *sweep.Record) error {
		if r.Failed == "" {
			times[plan.Sweep.Cells[i].Policy] = r.Timings.SolveS + r.Timings.PlayS
		}
		return nil
	})
	if ctx.Err() == context.DeadlineExceeded {
		err = nil // no estimate for what takes longer
	}
	return times, err
}
