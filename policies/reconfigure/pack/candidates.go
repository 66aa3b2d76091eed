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

// This file finds a schedule for the chunks on each of several sequences of topologies. For a
// sequence, pathAssignment assigns each chunk to a path so that links are loaded evenly, and
// Scheduler orders the chunks of each link in slots. A slot is the time in which a link carries one
// chunk. A phase is the time between two reconfigurations, during which one topology is connected.

// Sequence is the topologies that the switches connect, one per phase.
type Sequence struct {
	Origin     string // name of the construction in results
	Topologies []scaleup.Topology
}

// Options restrict how chunks may be assigned to paths, and control the search.
type Options struct {
	// Relay allows chunks to rest at intermediate GPUs across reconfigurations.
	Relay bool
	// Buffer limits the chunks in transit that a GPU may hold between slots
	// (plan.Plan.Buffer); 0 is no limit.
	Buffer int32
	// Known are candidates of other constructions. Plan skips sequences that cannot be better.
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

// finalBetas are the values of beta, per chunk, for the last round of pathAssignment.improve.
//
// The assignment gives each link a price that grows with its load, and moves chunks to cheaper
// paths. Beta is the steepness of this growth: the price of a link with one chunk less than the
// most loaded link of its phase is exp(-beta) times the price of that link. The first value is the
// best on average. For small problems a schedule is computed with each of the values.
var finalBetas = [...]float64{4, 8, 2, 3, 6, 1}

// maxAttemptWork limits the number of finalBetas that are tried: GPUs^2 x phases x values is at
// most maxAttemptWork, except that one value is always tried. All six values are tried for 32
// GPUs and 5 phases, and for 64 GPUs and one phase.
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

// unreachable returns an ErrUnreachable that names a pair of GPUs without a path.
func unreachable(u, v int) error {
	return fmt.Errorf("%w: from GPU %d to GPU %d", ErrUnreachable, u, v)
}

// scheduleWorker schedules sequences in one goroutine. Its memory is reused from one sequence to
// the next.
type scheduleWorker struct {
	assignment pathAssignment
	scheduler  Scheduler
	// isTooCostly reports whether plans with at least the given slots cost more than the
	// caller accepts. Scheduling then stops with a costError. isTooCostly may be nil.
	isTooCostly func(slots int64) bool
}

// parallel calls do for i = 0..n-1, on the given number of goroutines with a scheduleWorker each.
// The calls must be independent of each other. If stop reports true, parallel ends the whole search
// (cancellation.Condition.Check).
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

// bestSchedule schedules the chunks of p on one sequence, and returns the schedule with the minimum
// number of slots that it finds. It returns these errors:
//
//   - ErrUnreachable if two GPUs that exchange chunks have no path,
//   - ErrBuffer if no schedule that it tried keeps within Options.Buffer,
//   - errDominated if an incumbent is better than every schedule of the sequence,
//   - a costError if every schedule is too costly (isTooCostly).
func (w *scheduleWorker) bestSchedule(p *plan.Problem, q Sequence, o Options, incumbents *incumbentSet) (*Schedule, error) {
	w.scheduler.Stop, w.assignment.stop = o.Stop, o.Stop
	net := newTimeNetwork(q.Topologies, p.GPUs)
	best, err := w.bestAttempt(p, net, o, incumbents)
	if o.Buffer > 0 && o.Relay && (err == nil || errors.Is(err, ErrBuffer)) {
		// Chunks that relay fill buffers across reconfigurations. Without relaying there may be
		// a schedule within the limit of the buffers although relaying has no such schedule. There
		// may also be a schedule with fewer slots.
		o.Relay = false
		other, otherErr := w.bestAttempt(p, net, o, incumbents)
		if otherErr == nil && (err != nil || other.Total < best.Total) {
			best, err = other, nil
		}
	}

	return best, err
}

// bestAttempt schedules the chunks with several final values of beta, and returns the schedule with
// the minimum number of slots. Its errors are the same as for bestSchedule.
func (w *scheduleWorker) bestAttempt(p *plan.Problem, net *timeNetwork, o Options, incumbents *incumbentSet) (*Schedule, error) {
	checkBound := func(slots int64) error { return w.checkBound(incumbents, net.phases, slots) }
	attempts := maxAttemptWork / (net.n * net.n * net.phases)
	attempts = max(1, min(attempts, len(finalBetas)))

	var best *Schedule
	maxBound := int64(0)
	for _, beta := range finalBetas[:attempts] {
		assignment := &w.assignment
		assignment.init(net, p.Chunks, o.Relay)
		if err := assignment.improve(improvementRounds, beta, checkBound); err != nil {
			return nil, err
		}
		maxBound = max(maxBound, assignment.lowerBound())

		// No schedule of this assignment takes fewer slots than the sum of the maximum loads.
		if best != nil && assignment.sumOfMaxLoads() >= best.Total {
			continue
		}
		schedule := assignment.schedule(p)
		schedule.countSlots(&w.scheduler)
		fits, err := schedule.limitBuffer(o)
		if err != nil {
			return nil, err
		}
		if fits && (best == nil || schedule.Total < best.Total) {
			best = schedule
		}
	}

	if best == nil {
		return nil, ErrBuffer
	}
	best.Bound = maxBound
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

// candidates is Candidates for sequences that have been checked. It also leaves out sequences
// that an incumbent dominates, and adds the candidates to the incumbents. incumbents may be nil.
func candidates(p *plan.Problem, list []scoredSequence, o Options, incumbents *incumbentSet) ([]plan.Candidate, error) {
	schedules := make([]*Schedule, len(list))
	errs := make([]error, len(list))
	parallel(o.Workers, len(list), o.Stop, func(w *scheduleWorker, i int) {
		schedules[i], errs[i] = w.scheduleSequence(p, list[i], o, incumbents)
	})

	var all []plan.Candidate
	for i, schedule := range schedules {
		err := errs[i]
		switch {
		case err == nil:
			all = append(all, schedule.Candidate(list[i].Origin))
		case errors.Is(err, ErrUnreachable), errors.Is(err, ErrBuffer), errors.Is(err, errDominated):
			// This sequence has no candidate.
		default:
			return nil, fmt.Errorf("sequence %q: %w", list[i].Origin, err)
		}
	}
	return all, nil
}

// scheduleSequence schedules a sequence, unless its lower bound excludes it, and records the slots
// with the incumbents. incumbents may be nil: the methods record and dominates allow that. The
// errors are the same as for bestSchedule.
func (w *scheduleWorker) scheduleSequence(
	p *plan.Problem,
	s scoredSequence,
	o Options,
	incumbents *incumbentSet,
) (*Schedule, error) {
	numTopologies := len(s.Topologies)

	// With one topology there is no reconfiguration across which a chunk could rest.
	o.Relay = o.Relay && numTopologies > 1
	if incumbents != nil {
		minSlots, err := incumbents.bound(s, o.Relay)
		if err != nil {
			return nil, err
		}
		if err := w.checkBound(incumbents, numTopologies, minSlots); err != nil {
			return nil, err
		}
	}

	best, err := w.bestSchedule(p, s.Sequence, o, incumbents)
	if s.triesBothSearches && !errors.As(err, new(costError)) {
		other, otherErr := w.scheduleWithRelaySearch(p, s.Sequence, o, incumbents)
		if otherErr == nil && (err != nil || other.Total < best.Total) {
			best, err = other, nil
		}
	}

	if err == nil {
		incumbents.record(numTopologies, best.Total)
	}
	return best, err
}

// scheduleWithRelaySearch schedules a sequence of one topology with the path search for relaying
// chunks. On one topology that search finds paths of the same cost, but it visits GPUs in another
// order and thus selects other ones of several cheapest paths. No chunk relays, so the schedule is
// not marked as relaying.
func (w *scheduleWorker) scheduleWithRelaySearch(
	p *plan.Problem,
	q Sequence,
	o Options,
	incumbents *incumbentSet,
) (*Schedule, error) {
	o.Relay = true
	schedule, err := w.bestSchedule(p, q, o, incumbents)
	if err != nil {
		return nil, err
	}
	schedule.Relay = false
	return schedule, nil
}

// checkBound returns an error if no candidate of the given number of topologies with at least the
// given slots is needed: errDominated if an incumbent is better, or a costError if all are too
// costly. incumbents may be nil.
func (w *scheduleWorker) checkBound(incumbents *incumbentSet, numTopologies int, slots int64) error {
	if incumbents.dominates(numTopologies, slots) {
		return errDominated
	}
	if w.isTooCostly != nil && w.isTooCostly(slots) {
		return costError{slots}
	}
	return nil
}

// Candidate returns the schedule as a candidate, which creates the plan when it is built.
func (r *Schedule) Candidate(origin string) plan.Candidate {
	return plan.Candidate{
		Origin:           origin,
		Reconfigurations: len(r.Topologies),
		Slots:            r.Total,
		Waits:            true, // a chunk waits at a GPU while another chunk has its link
		Relay:            r.Relay,
		Build: func(_ int64, stop cancellation.Condition) (p *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return r.buildPlan(origin, stop)
		},
	}
}

// ErrBuffer is returned if no schedule within the allowed buffers was found.
var ErrBuffer = errors.New("pack: no schedule within the buffer limit")
