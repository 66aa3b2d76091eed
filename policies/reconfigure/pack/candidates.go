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

// rounds of improvement, beyond which little is gained.
const rounds = 10

// sharps are betas of the last round, per chunk: a link one chunk under the top of its phase costs exp(-sharp) of it.
// The first is best on average; small problems are also tried with the others, while GPUs^2 x phases x attempts stays
// within attemptWork.
var sharps = [...]float64{4, 8, 2, 3, 6, 1}

const attemptWork = 1 << 15

func check(p *plan.Problem, s Sequence) error {
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

// worker holds the memory of one goroutine.
type worker struct {
	spread spread
	player Player
	cut    func(slots int64) bool // nil, or whether so many slots cost more than is asked for; then it fails with cutOff
}

// parallel does n things that do not depend on each other, by so many goroutines.
func parallel(workers, n int, stop halt.When, do func(w *worker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(1, workers), n) {
		group.Go(func() {
			defer halt.RecoverGoroutine()
			var w worker
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(&w, int(i))
			}
		})
	}
	group.Wait()
	stop.Check()
}

// fit spreads the chunks of p over one sequence. Errors: ErrUnreachable where two GPUs that exchange chunks have no
// path, ErrBuffer where no schedule within Options.Buffer is found, errLost where race has better schedules than there
// can be of q.
func (w *worker) fit(p *plan.Problem, q Sequence, o Options, race *race) (*Schedule, error) {
	w.player.Stop, w.spread.stop = o.Stop, o.Stop
	net := newNetwork(q.Topologies, p.GPUs)
	best, err := w.best(p, net, o, race)
	if o.Buffer > 0 && o.Relay && (err == nil || errors.Is(err, ErrBuffer)) {
		// Without relaying, where that fits in fewer slots or alone.
		o.Relay = false
		if other, again := w.best(p, net, o, race); again == nil && (err != nil || other.Total < best.Total) {
			best, err = other, nil
		}
	}
	return best, err
}

// best is the schedule of fewest slots of a few attempts, each with another end of its prices' rise.
func (w *worker) best(p *plan.Problem, net *network, o Options, race *race) (*Schedule, error) {
	var best *Schedule
	bound := int64(0)
	for _, sharp := range sharps[:max(1, min(len(sharps), attemptWork/(net.n*net.n*net.phases)))] {
		s := &w.spread
		s.init(net, p.Chunks, o.Relay)
		if err := s.improve(rounds, sharp, func(bound int64) error { return w.lost(race, net.phases, bound) }); err != nil {
			return nil, err
		}
		bound = max(bound, s.bound())
		if best == nil || s.total() < best.Total {
			r := s.keep(p)
			r.play(&w.player)
			fits, err := r.confine(o)
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
	all := make([]made, len(list))
	for i, s := range list {
		if err := check(p, s); err != nil {
			return nil, err
		}
		all[i].Sequence = s
	}
	return candidates(p, all, o, nil)
}

// candidates is Candidates of what has passed its checks; race, if not nil, leaves out what it knows to be lost.
func candidates(p *plan.Problem, list []made, o Options, race *race) ([]plan.Candidate, error) {
	found, faults := make([]*Schedule, len(list)), make([]error, len(list))
	parallel(o.Workers, len(list), o.Stop, func(w *worker, i int) { found[i], faults[i] = w.run(p, list[i], o, race) })
	var all []plan.Candidate
	for i, r := range found {
		switch err := faults[i]; {
		case err == nil:
			all = append(all, r.Candidate(list[i].Origin))
		case !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrBuffer) && !errors.Is(err, errLost):
			return nil, fmt.Errorf("sequence %q: %w", list[i].Origin, err)
		}
	}
	return all, nil
}

// run fits a sequence unless that is lost before it begins. Chunks of one topology do not relay.
func (w *worker) run(p *plan.Problem, s made, o Options, race *race) (*Schedule, error) {
	d := len(s.Topologies)
	o.Relay = o.Relay && d > 1
	if race != nil {
		bound, err := race.bound(s, o.Relay)
		if err == nil {
			err = w.lost(race, d, bound)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := w.fit(p, s.Sequence, o, race)
	if s.again && !errors.As(err, new(cutOff)) {
		o.Relay = true
		if other, again := w.fit(p, s.Sequence, o, race); again == nil && (err != nil || other.Total < r.Total) {
			other.Relay = false
			r, err = other, nil
		}
	}
	if err == nil {
		race.enter(d, r.Total)
	}
	return r, err
}

// lost fails where schedules of d topologies that take at least so many slots are not wanted.
func (w *worker) lost(race *race, d int, slots int64) error {
	if race.lost(d, slots) {
		return errLost
	}
	if w.cut != nil && w.cut(slots) {
		return cutOff{slots}
	}
	return nil
}

// Candidate offers the schedule.
func (r *Schedule) Candidate(origin string) plan.Candidate {
	return plan.Candidate{Origin: origin, Reconfigurations: len(r.Topologies), Slots: r.Total, Waits: true, Relay: r.Relay,
		Build: func(_ int64, stop halt.When) (p *plan.Plan, err error) {
			defer halt.Caught(&err)
			return r.plan(origin, stop)
		}}
}

// ErrBuffer says that no schedule within the allowed buffers was found.
var ErrBuffer = errors.New("pack: the chunks in transit need larger buffers")
