package pack

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Sequence is what the switches connect, phase after phase.
type Sequence struct {
	// Origin names the construction, for people.
	Origin     string
	Topologies []scaleup.Topology
}

// Options say how chunks may be spread.
type Options struct {
	// Relay lets chunks rest at intermediate GPUs across reconfigurations.
	Relay bool
	// Buffer is the most chunks in transit that a GPU may hold between slots (plan.Plan.Buffer); 0 is no limit.
	Buffer int32
	// Known are candidates that a sequence must beat to be scheduled by Plan.
	Known []plan.Candidate
	// Workers is how many sequences are worked on at a time; 0 is 1. It changes no result.
	Workers int
	// Stop is asked now and then; planning ends with halt.ErrHalted when it says so.
	Stop halt.When
}

// improvementRounds of improvement, beyond which little is gained.
const improvementRounds = 10

// finalBetas are betas of the last round, per chunk: a link one chunk under the top of its phase costs exp(-sharp) of it.
// The first is best on average; small problems are also tried with the others, while GPUs^2 x phases x attempts stays
// within attemptWork.
var finalBetas = [...]float64{4, 8, 2, 3, 6, 1}

const maxAttemptWork = 1 << 15

func checkSequence(p *plan.Problem, s Sequence) error {
	if err := p.Check(); err != nil {
		return err
	}
	if len(s.Topologies) == 0 {
		return fmt.Errorf("%w: sequence %q has no topology", plan.ErrProblem, s.Origin)
	}
	for i, t := range s.Topologies {
		if err := t.Check(p.GPUs, p.Degree); err != nil {
			return fmt.Errorf("topology %d of sequence %q: %w", i, s.Origin, err)
		}
	}
	return nil
}

func unreachable(u, v int) error {
	return fmt.Errorf("%w: GPU %d has no way to GPU %d", ErrUnreachable, u, v)
}

// scheduleWorker holds the memory of one goroutine.
type scheduleWorker struct {
	assignment  pathAssignment
	scheduler   Scheduler
	isTooCostly func(slots int64) bool // nil, or whether so many slots cost more than is asked for; then it fails with cutOff
}

// parallel does n things that do not depend on each other, by so many goroutines.
func parallel(workers, n int, stop halt.When, do func(w *scheduleWorker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(1, workers), n) {
		group.Go(func() {
			defer halt.Left()
			var w scheduleWorker
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(&w, int(i))
			}
		})
	}
	group.Wait()
	stop.Check()
}

// bestSchedule spreads the chunks of p over one sequence. Errors: ErrUnreachable where two GPUs that exchange chunks have no
// path, ErrBuffer where no schedule within Options.Buffer is found, errLost where race has better schedules than there
// can be of q.
func (w *scheduleWorker) bestSchedule(p *plan.Problem, q Sequence, o Options, found *incumbents) (*Schedule, error) {
	w.scheduler.Stop, w.assignment.stop = o.Stop, o.Stop
	net := newTimeNetwork(q.Topologies, p.GPUs)
	best, err := w.bestAttempt(p, net, o, found)
	if o.Buffer > 0 && o.Relay && (err == nil || errors.Is(err, ErrBuffer)) {
		// Without relaying, where that fits in fewer slots or alone.
		o.Relay = false
		if other, otherErr := w.bestAttempt(p, net, o, found); otherErr == nil && (err != nil || other.Total < best.Total) {
			best, err = other, nil
		}
	}
	return best, err
}

// bestAttempt is the schedule of fewest slots of a few attempts, each with another end of its prices' rise.
func (w *scheduleWorker) bestAttempt(p *plan.Problem, net *timeNetwork, o Options, found *incumbents) (*Schedule, error) {
	var best *Schedule
	bound := int64(0)
	for _, beta := range finalBetas[:max(1, min(len(finalBetas), maxAttemptWork/(net.n*net.n*net.phases)))] {
		s := &w.assignment
		s.init(net, p.Chunks, o.Relay)
		if err := s.improve(improvementRounds, beta, func(bound int64) error { return w.checkBound(found, net.phases, bound) }); err != nil {
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

// Candidates returns for every sequence its schedule as a candidate, in the order of the sequences; those without one
// (ErrUnreachable, ErrBuffer) are left out. Errors: those of the checks of p and of the topologies.
func Candidates(p *plan.Problem, list []Sequence, o Options) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	all := make([]scoredSequence, len(list))
	for i, s := range list {
		if err := checkSequence(p, s); err != nil {
			return nil, err
		}
		all[i].Sequence = s
	}
	return candidates(p, all, o, nil)
}

// candidates is Candidates of what has passed its checks; race, if not nil, leaves out what it knows to be lost.
func candidates(p *plan.Problem, list []scoredSequence, o Options, incumbents *incumbents) ([]plan.Candidate, error) {
	schedules, errs := make([]*Schedule, len(list)), make([]error, len(list))
	parallel(o.Workers, len(list), o.Stop, func(w *scheduleWorker, i int) { schedules[i], errs[i] = w.scheduleSequence(p, list[i], o, incumbents) })
	var all []plan.Candidate
	for i, r := range schedules {
		switch err := errs[i]; {
		case err == nil:
			all = append(all, r.Candidate(list[i].Origin))
		case !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrBuffer) && !errors.Is(err, errDominated):
			return nil, fmt.Errorf("sequence %q: %w", list[i].Origin, err)
		}
	}
	return all, nil
}

// scheduleSequence fits a sequence unless that is lost before it begins. Chunks of one topology do not relay.
func (w *scheduleWorker) scheduleSequence(p *plan.Problem, s scoredSequence, o Options, found *incumbents) (*Schedule, error) {
	d := len(s.Topologies)
	o.Relay = o.Relay && d > 1
	if found != nil {
		bound, err := found.bound(s, o.Relay)
		if err == nil {
			err = w.checkBound(found, d, bound)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := w.bestSchedule(p, s.Sequence, o, found)
	if s.tryBothOrders && !errors.As(err, new(costError)) {
		o.Relay = true
		if other, otherErr := w.bestSchedule(p, s.Sequence, o, found); otherErr == nil && (err != nil || other.Total < r.Total) {
			other.Relay = false
			r, err = other, nil
		}
	}
	if err == nil {
		found.record(d, r.Total)
	}
	return r, err
}

// checkBound fails where schedules of d topologies that take at least so many slots are not wanted.
func (w *scheduleWorker) checkBound(found *incumbents, d int, slots int64) error {
	if found.dominates(d, slots) {
		return errDominated
	}
	if w.isTooCostly != nil && w.isTooCostly(slots) {
		return costError{slots}
	}
	return nil
}

// Candidate offers the schedule.
func (r *Schedule) Candidate(origin string) plan.Candidate {
	return plan.Candidate{Origin: origin, Reconfigurations: len(r.Topologies), Slots: r.Total, Waits: true, Relay: r.Relay,
		Build: func(_ int64, stop halt.When) (p *plan.Plan, err error) {
			defer halt.Caught(&err)
			return r.buildPlan(origin, stop)
		}}
}

// ErrBuffer says that no schedule within the allowed buffers was found.
var ErrBuffer = errors.New("pack: the chunks in transit need larger buffers")
