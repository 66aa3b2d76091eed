package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"time"

	"sim/internal/text"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// sampleTime bounds what --dry-run computes for its estimate.
const sampleTime = 10 * time.Second

// dryRun prints the cells that a sweep would compute, and how long that might take: by the times of cells that are
// there, or else of one cell a policy.
func (c *command) dryRun(ctx context.Context, plan *study.Plan, flags sweepFlags) error {
	dir := sweepDir(plan, flags)
	store := study.Peek(dir)
	store.Outdate(askedFor(plan, flags))
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
	work, err := plan.Work(ctx, store)
	if err != nil {
		return err
	}
	_, missing, ok := plan.Estimate(store, flags.workers, work, nil)
	how := "by the cells that are there"
	sample := map[string]float64{}
	if !ok {
		how = "by one cell of each policy"
		if sample, err = c.sample(ctx, plan, store, work, flags); err != nil {
			return err
		}
	}
	seconds, _, ok := plan.Estimate(store, flags.workers, work, sample)
	total := len(plan.Sweep.Cells)
	about := "about " + text.Roughly(seconds)
	switch {
	case missing == 0:
		c.say("%s, all there: nothing to compute", text.Plural(total, "cell"))
		return nil
	case !ok:
		about = fmt.Sprintf("more than %s", text.Roughly(max(seconds, sampleTime.Seconds(), work.Seconds/float64(flags.workers))))
	}
	c.say("%s, %s to compute: %s on %s, %s; they go to %s", text.Plural(total, "cell"), text.Count(missing), about,
		text.Plural(flags.workers, "processor"), how, dir)
	return nil
}

// longSweep is how many seconds a sweep takes, about, that is announced as long.
const longSweep = 10

// announce says before a sweep begins that it is a long one: by the times of cells that are there, or else by the hops
// of packets that there are to simulate.
func (c *command) announce(ctx context.Context, plan *study.Plan, store *study.Store, flags sweepFlags) error {
	if !slices.ContainsFunc(plan.Sweep.Cells, func(cell result.Cell) bool { return !store.Has(cell.Key) }) {
		return nil
	}
	work, err := plan.Work(ctx, store)
	if err != nil {
		return err
	}
	if flags.queue != "" {
		flags.workers = 1 // how many there will be is not known
	}
	seconds, missing, ok := plan.Estimate(store, flags.workers, work, nil)
	how := "by the cells that are there"
	if !ok {
		seconds = work.Seconds / float64(max(1, min(flags.workers, missing)))
		how = fmt.Sprintf("by some %.2g hops of packets", work.Hops)
	}
	if missing > 0 && seconds >= longSweep {
		c.say("%s has %s to compute, which takes about %s on %s, %s", plan.Sweep.Name, text.Plural(missing, "cell"), text.Roughly(seconds),
			text.Plural(flags.workers, "processor"), how)
	}
	return nil
}

// sample times the first missing cell of each policy, by the unit of work.
func (c *command) sample(ctx context.Context, plan *study.Plan, store *study.Store, work *study.Work, flags sweepFlags) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var todo []int
	seen := map[string]bool{}
	for i := range plan.Sweep.Cells {
		cell := &plan.Sweep.Cells[i]
		if !seen[cell.Policy] && !store.Has(cell.Key) {
			seen[cell.Policy] = true
			todo = append(todo, i)
		}
	}
	times := map[string]float64{}
	err := study.Local(flags.workers)(ctx, plan, todo, func(i int, r *study.Record) error {
		if r.Failed == "" {
			times[plan.Sweep.Cells[i].Policy] = (r.Timings.SolveS + r.Timings.SimulateS) / work.Of[i]
		}
		return nil
	})
	if ctx.Err() == context.DeadlineExceeded {
		err = nil // no estimate for what takes longer
	}
	return times, err
}
