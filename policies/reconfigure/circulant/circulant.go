// Package circulant plans uniform all-to-alls as sequences of circulant topologies: in every phase each GPU u is joined
// to u+a mod n for k offsets a. All GPUs are alike in them, so that a plan for the chunks of one source serves all by
// rotation, and hops commute, so that a phase is an open shop of unit tasks that takes exactly as many slots as its
// most loaded offset or its farthest chunk. What remains is to choose offsets, and ways over them that load them
// evenly:
//
//   - degree 1: facility location over shifts;
//   - higher degrees: the same over tuples of offsets, and a local search for even loads;
//   - with relaying, where chunks rest at intermediate GPUs across reconfigurations: d phases of k offsets act as one
//     circulant of d k generators;
//   - with switches that reconfigure on their own: the same generators, each up on its switch for as long as its load.
//
// Demands of unequal sizes are left to the sibling packages, which may take Sequences, and so are other topologies.
package circulant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"sim/internal/random"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Options are the options of Candidates and Sequences.
type Options struct {
	// Relay also offers plans whose chunks may rest at intermediate GPUs across reconfigurations.
	Relay bool
	// BufferLimit, above 0, is the most chunks in transit that a GPU may hold between slots. Destinations give up
	// relaying, and then changing offsets within a phase, until a plan fits; one that still does not is not offered.
	// What chunks a GPU holds is known only from the whole schedule, so that planning takes longer.
	BufferLimit int32
	// Independent also offers plans in which every switch reconfigures on its own.
	Independent bool
	// Wanted says of which numbers of topologies there are to be plans, beside those of chunks that all take one hop; nil is
	// of all. Of more than 64 GPUs what is offered of a number depends on others only where these take no more slots.
	Wanted func(topologies int) bool
	// Stop is asked now and then; planning ends when it says so.
	Stop halt.When
}

// ErrUneven says that demands are not the same for all pairs.
var ErrUneven = errors.New("circulant: the all-to-all is not uniform")

// Candidates returns plans of a uniform all-to-all for every useful number d of topologies, from 1 to ceil((n-1)/k)
// where all chunks take one hop: first those without relaying by rising d, then with Options.Relay those with it that
// take fewer slots, then with Options.Independent those of switches on their own. Of the latter Reconfigurations and
// Slots are the most of any switch, chunks rest while another switch reconfigures (so that their plans are marked Relay
// whether or not a chunk uses several epochs), and every phase of a built plan is an interval in which no switch
// changes state, with the edges of the switches up then; their total of slots includes those in which switches are
// down.
//
// Where (n-1)/k is above 128, d is 1..32 and then grows by an eighth, and offsets are exchanged less often. Kicks out
// of local optima are drawn from p.Seed. Errors: those of p.Check, ErrUneven, and halt.ErrHalted.
func Candidates(p *plan.Problem, o Options) (list []plan.Candidate, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	chunks, ok := p.Uniform()
	if !ok {
		return nil, fmt.Errorf("%w: it needs the same count of chunks, above 0, for all pairs", ErrUneven)
	}
	l := newPlanner(p.GPUs, p.Degree, chunks, o, p.Seed)
	plain, relayed := l.synchronised(l.separateSchedules())
	for _, s := range plain {
		list = append(list, s.candidate("circulant"))
	}
	for _, s := range relayed {
		list = append(list, s.candidate("circulant, relayed"))
	}
	if o.Independent {
		list = append(list, l.independentPlans(list)...)
	}
	return list, nil
}

// Sequences returns the offsets of phases that reach all in few hops, for each useful number of topologies as
// Candidates has them: first those of plans without relaying, then those of plans with it, [plan][phase][k offsets]. An
// offset that appears twice in a phase has two links. They suit demands of any sizes; what only fills links evenly
// where all sizes are equal is left out. nil for n < 2, k < 1 and k >= n, and where Options.Stop ended it.
func Sequences(n, k int, o Options) (list [][][]int) {
	var halted error
	defer func() {
		if halted != nil {
			list = nil
		}
	}()
	defer halt.Caught(&halted)
	if n < 2 || k < 1 || k >= n {
		return nil
	}
	l := newPlanner(n, k, 1, o, 0)
	plain, relayed := l.synchronised(l.minHopSchedules(nil))
	for _, s := range append(plain, relayed...) {
		var phases [][]int
		for p, offsets := range s.phases {
			if s.slots[p] > 0 {
				phases = append(phases, slices.Clone(offsets))
			}
		}
		list = append(list, phases)
	}
	return list
}

// isOptimal reports whether the scheme meets the bound on the hops of circulants: then no scheme of as many topologies takes
// fewer slots, relaying if this one does.
func (s *sourceSchedule) isOptimal() bool {
	phases, generators := s.usedPhases(), s.k
	if s.relay {
		phases, generators = 1, s.usedPhases()*s.k
	}
	return s.total() == minPhaseSlots(s.n, s.k, phases, generators, s.chunks)
}

// candidate offers the scheme.
func (s *sourceSchedule) candidate(origin string) plan.Candidate {
	return plan.Candidate{
		Origin:           origin,
		Reconfigurations: s.usedPhases(),
		Slots:            s.total(),
		Waits:            s.k > 1 || s.relay,
		Relay:            s.relay,
		Proved:           s.isOptimal(),
		Build: func(_ int64, stop halt.When) (p *plan.Plan, err error) {
			defer halt.Caught(&err)
			return s.timetable(stop).buildPlan(origin, stop)
		},
	}
}

// allToAllPlanner plans one all-to-all.
type allToAllPlanner struct {
	n, k    int
	chunks  int32
	repeats int32 // what is planned for is so many times these chunks
	options Options
	seed    uint64
}

func newPlanner(n, k int, chunks int32, o Options, seed uint64) *allToAllPlanner {
	return &allToAllPlanner{n: n, k: k, chunks: chunks, repeats: 1, options: o, seed: seed}
}

// random is the stream of one purpose.
func (l *allToAllPlanner) random(purpose string, d int) *rand.Rand {
	return random.Stream(l.seed, fmt.Sprintf("circulant/%s/%d/%d/%d", purpose, l.n, l.k, d))
}

// counts lists the numbers of topologies to plan for.
func (l *allToAllPlanner) counts() []int { return l.filterWanted(l.allCounts()) }

// filterWanted keeps of numbers of topologies those that are wanted.
func (l *allToAllPlanner) filterWanted(list []int) []int {
	return slices.DeleteFunc(list, func(d int) bool { return l.options.Wanted != nil && !l.options.Wanted(d) })
}

// allCounts is counts whatever Options.Wanted.
func (l *allToAllPlanner) allCounts() []int {
	maxCount := (l.n - 2 + l.k) / l.k
	var list []int
	for d := 1; d < maxCount; {
		list = append(list, d)
		if d < 32 || maxCount <= 128 {
			d++
		} else {
			d += d / 8
		}
	}
	return append(list, maxCount)
}

// synchronised returns plans with all switches reconfiguring at once: of plain those that none of the others beats, within
// the buffer, and with relaying.
func (l *allToAllPlanner) synchronised(separate []*sourceSchedule) (_, relayed []*sourceSchedule) {
	separate = frontier(nil, separate)
	if l.options.BufferLimit > 0 {
		// What goes directly needs no buffer, so that something always fits.
		separate = frontier(nil, l.fitBuffers(append(separate, l.schedulePhases(l.directPhases(), 0))))
	}
	if l.options.Relay {
		relayed = frontier(separate, l.fitBuffers(frontier(separate, l.relaySchedules())))
	}
	return separate, relayed
}

// frontier keeps the schemes that take fewer slots than those before them, by rising d, and than those of over.
func frontier(over, list []*sourceSchedule) (kept []*sourceSchedule) {
	slices.SortStableFunc(list, func(a, b *sourceSchedule) int {
		if c := a.usedPhases() - b.usedPhases(); c != 0 {
			return c
		}
		return int(a.total() - b.total())
	})
	for _, s := range list {
		if !slices.ContainsFunc(append(kept, over...), func(t *sourceSchedule) bool {
			return t.usedPhases() <= s.usedPhases() && t.total() <= s.total()
		}) {
			kept = append(kept, s)
		}
	}
	return kept
}
