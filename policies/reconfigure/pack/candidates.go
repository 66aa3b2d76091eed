package pack

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Sequence is the topologies that the switches connect, phase after phase.
type Sequence struct {
	// Origin names the construction in results.
	Origin     string
	Topologies []scaleup.Topology
}

// Options restrict how chunks may be assigned to paths, and control the search.
type Options struct {
	// Relay allows chunks to rest at intermediate GPUs across reconfigurations.
	Relay bool
	// Buffer limits the chunks in transit that a GPU may hold between slots
	// (plan.Plan.Buffer); 0 is no limit.
	Buffer int32
	// Known are candidates of other origin. Plan skips sequences that cannot be better than
	// these.
	Known []plan.Candidate
	// Workers is the number of sequences that are scheduled in parallel; 0 is 1. It changes
	// no result.
	Workers int
	// Stop is polled. When it reports true, planning ends with cancellation.ErrCancelled.
	Stop cancellation.Condition
}

// improvementRounds is the number of rounds of pathAssignment.improve. More rounds gain
// little.
const improvementRounds = 10

// finalBetas are values of beta, per chunk, for the last round of pathAssignment.improve. A
// link with a load one chunk below the maximum of its phase has exp(-beta) of the price of
// the maximum. The first value is best on average. Small problems are also tried with the
// others, while GPUs^2 x phases x attempts is at most maxAttemptWork.
var finalBetas = [...]float64{4, 8, 2, 3, 6, 1}

// maxAttemptWork limits the attempts with different finalBetas.
const maxAttemptWork = 1 << 15

// checkSequence checks a problem and the topologies of a sequence.
func checkSequence(p *plan.Problem, s Sequence) error {
	if err := p.Check(); err != nil {
		return err
	}
	if len(s.Topologies) == 0 {
		return fmt.Errorf("%w: sequence %q has no topology; it needs at least 1", plan.ErrProblem,
			s.Origin)
	}

	for i, t := range s.Topologies {
		if err := t.Check(p.GPUs, p.Degree); err != nil {
			return fmt.Errorf("topology %d of sequence %q: %w", i, s.Origin, err)
		}
	}
	return nil
}

// unreachable returns ErrUnreachable for a pair of GPUs.
func unreachable(u, v int) error {
	return fmt.Errorf("%w: from GPU %d to GPU %d", ErrUnreachable, u, v)
}

// scheduleWorker schedules sequences in one goroutine. Its memory is reused.
type scheduleWorker struct {
	assignment pathAssignment
	scheduler  Scheduler
	// isTooCostly reports whether plans with at least the given slots cost more than the
	// caller accepts. Scheduling then stops with costError. It may be nil.
	isTooCostly func(slots int64) bool
}

// parallel calls do for i = 0..n-1 on the given number of goroutines. The calls must be
// independent of each other.
func parallel(workers, n int, stop cancellation.Condition, do func(w *scheduleWorker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(1, workers), n) {
		group.Go(func() {
			defer cancellation.RecoverGoroutine()
			var w scheduleWorker
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(&w, int(i))
			}
		})
	}

	group.Wait()
	stop.Check()
}

// bestSchedule schedules the chunks of p on one sequence. Errors: ErrUnreachable if two
// GPUs that exchange chunks have no path, ErrBuffer if it finds no schedule within
// Options.Buffer, errDominated if found has better candidates than any schedule of q, and
// costError.
func (w *scheduleWorker) bestSchedule(p *plan.Problem, q Sequence, o Options, incumbents *incumbentSet) (*Schedule, error) {
	w.scheduler.Stop, w.assignment.stop = o.Stop, o.Stop
	net := newTimeNetwork(q.Topologies, p.GPUs)
	best, err := w.bestAttempt(p, net, o, incumbents)
	if o.Buffer > 0 && o.Relay && (err == nil || errors.Is(err, ErrBuffer)) {
		// The limit may fit without relaying only, or with fewer slots.
		o.Relay = false
		if other, otherErr := w.bestAttempt(p, net, o, incumbents); otherErr == nil &&
			(err != nil || other.Total < best.Total) {
			best, err = other, nil
		}
	}

	return best, err
}

// bestAttempt tries several final values of beta and returns the schedule with the lowest
// slots.
func (w *scheduleWorker) bestAttempt(p *plan.Problem, net *timeNetwork, o Options, incumbents *incumbentSet) (*Schedule, error) {
	var best *Schedule
	bound := int64(0)
	for _, beta := range finalBetas[:max(1, min(len(finalBetas),
		maxAttemptWork/(net.n*net.n*net.phases)))] {
		s := &w.assignment
		s.init(net, p.Chunks, o.Relay)
		if err := s.improve(improvementRounds, beta, func(bound int64) error {
			return w.checkBound(incumbents, net.phases, bound)
		}); err != nil {
			return nil, err
		}
		bound = max(bound, s.lowerBound())

		if best == nil || s.sumOfMaxLoads() < best.Total {
			r := s.schedule(p)
			r.countSlots(&w.scheduler)
			fits, err := r.limitBuffer(o)
			if err != nil {
				return nil, err
			}
			if fits && (best == nil || r.Total < best.Total) {
				best = r
			}
		}
	}

	if best == nil {
		return nil, ErrBuffer
	}
	best.Bound = bound
	return best, nil
}

// Candidates schedules each sequence and returns the schedules as candidates, in the order
// of the sequences. It leaves out sequences without a schedule (ErrUnreachable, ErrBuffer).
// Invalid problems and topologies are errors.
func Candidates(p *plan.Problem, list []Sequence, o Options) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	all := make([]scoredSequence, len(list))
	for i, s := range list {
		if err := checkSequence(p, s); err != nil {
			return nil, err
		}
		all[i].Sequence = s
	}

	return candidates(p, all, o, nil)
}

// candidates is Candidates for sequences that have been checked. It also leaves out
// sequences that the incumbents dominate, if they are not nil.
func candidates(p *plan.Problem, list []scoredSequence, o Options, incumbents *incumbentSet) ([]plan.Candidate, error) {
	schedules := make([]*Schedule, len(list))
	errs := make([]error, len(list))
	parallel(o.Workers, len(list), o.Stop, func(w *scheduleWorker, i int) {
		schedules[i], errs[i] = w.scheduleSequence(p, list[i], o, incumbents)
	})
	var all []plan.Candidate
	for i, r := range schedules {
		switch err := errs[i]; {
		case err == nil:
			all = append(all, r.Candidate(list[i].Origin))
		case !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrBuffer) && !errors.Is(err,
			errDominated):
			return nil, fmt.Errorf("sequence %q: %w", list[i].Origin, err)
		}
	}

	return all, nil
}

// scheduleSequence schedules a sequence unless its bound excludes it. Sequences of one
// topology do not relay, because there is no reconfiguration across which a chunk could
// rest.
func (w *scheduleWorker) scheduleSequence(
	p *plan.Problem,
	s scoredSequence,
	o Options,
	incumbents *incumbentSet,
) (*Schedule, error) {
	d := len(s.Topologies)
	o.Relay = o.Relay && d > 1
	if incumbents != nil {
		bound, err := incumbents.bound(s, o.Relay)
		if err == nil {
			err = w.checkBound(incumbents, d, bound)
		}
		if err != nil {
			return nil, err
		}
	}

	r, err := w.bestSchedule(p, s.Sequence, o, incumbents)
	if s.triesBothSearches && !errors.As(err, new(costError)) {
		o.Relay = true
		if other, otherErr := w.bestSchedule(p, s.Sequence, o, incumbents); otherErr == nil &&
			(err != nil || other.Total < r.Total) {
			other.Relay = false
			r, err = other, nil
		}
	}

	if err == nil {
		incumbents.record(d, r.Total)
	}
	return r, err
}

// checkBound returns errDominated or costError if candidates of d topologies with at least
// the given slots are not needed.
func (w *scheduleWorker) checkBound(incumbents *incumbentSet, d int, slots int64) error {
	if incumbents.dominates(d, slots) {
		return errDominated
	}
	if w.isTooCostly != nil && w.isTooCostly(slots) {
		return costError{slots}
	}
	return nil
}

// Candidate returns the schedule as a candidate, which writes the plan when it is built.
func (r *Schedule) Candidate(origin string) plan.Candidate {
	return plan.Candidate{
		Origin:           origin,
		Reconfigurations: len(r.Topologies),
		Slots:            r.Total,
		Waits:            true,
		Relay:            r.Relay,
		Build: func(_ int64, stop cancellation.Condition) (p *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return r.buildPlan(origin, stop)
		},
	}
}

// ErrBuffer is returned if no schedule within the allowed buffers was found.
var ErrBuffer = errors.New("pack: no schedule within the buffer limit")
