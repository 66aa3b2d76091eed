// Package circulant plans uniform all-to-alls as sequences of circulant topologies. In each
// phase, each GPU u has links to u+a mod n for k offsets a, the generators of the phase.
//
// All GPUs are equivalent in a circulant. A plan for the chunks of one source therefore
// serves all sources by rotation. Hops also commute, so the hops of a phase form an open
// shop of unit tasks. It takes exactly as many slots as the larger of the largest load of a
// generator and the largest number of hops of a chunk. What remains is to select offsets,
// and paths that load them evenly:
//
//   - degree 1: facility location over shifts (shift.go);
//   - higher degrees: facility location over tuples of offsets (facility.go), and a local
//     search for even loads (balance.go);
//   - with relaying, where chunks rest at intermediate GPUs across reconfigurations: d
//     phases of k offsets act as one circulant of d k generators (generators.go);
//   - with switches that reconfigure independently: the same generators, each active on
//     one switch for as many slots as its load (independent.go).
//
// Begin reading at Candidates. A sourceSchedule is the result of the searches. A timetable
// assigns its hops to slots, by the open shop of openshop.go. Unequal demands are planned
// by sibling packages, which may use Sequences.
package circulant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"sim/internal/random"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Options are the options of Candidates and Sequences.
type Options struct {
	// Relay also returns plans whose chunks may rest at intermediate GPUs across
	// reconfigurations.
	Relay bool
	// BufferLimit, if positive, limits the chunks in transit that a GPU may hold between
	// slots. Until a plan fits, more and more destinations are served without relaying, and
	// then without changing offsets within a phase. A plan that still does not fit is left
	// out. The chunks at a GPU follow only from the complete schedule, so planning takes
	// longer.
	BufferLimit int32
	// Independent also returns plans whose switches reconfigure independently.
	Independent bool
	// Wanted reports for which numbers of topologies plans are needed; nil means all. Plans
	// in which all chunks take one hop are always returned. The plan for one number may depend
	// on which other numbers are wanted. For more than 64 GPUs it does so only if the plan for
	// such a number takes no more slots.
	Wanted func(topologies int) bool
	// Stop is polled. Planning ends when it reports true.
	Stop cancellation.Condition
}

// ErrUneven is returned if demands differ between pairs.
var ErrUneven = errors.New("circulant: the all-to-all is not uniform")

// Candidates returns plans of a uniform all-to-all for each useful number d of topologies:
// from 1 to ceil((n-1)/k), where all chunks take one hop. Plans without relaying come
// first, by increasing d. Plans with relaying follow if Options.Relay is set and they take
// fewer slots, then plans with independent switches if Options.Independent is set.
//
// For independent switches, Reconfigurations and Slots are the maximum over the switches.
// Chunks rest while another switch reconfigures, so these plans are marked Relay even if no
// chunk uses several epochs. Each phase of such a plan is an interval in which no switch
// changes state, with the edges of the active switches. Its total of slots includes slots
// in which switches are down.
//
// If (n-1)/k is above 128, d is 1..32 and then increases by an eighth, and offsets are
// exchanged less often. Perturbations of local optima are drawn from p.Seed. Errors: those
// of p.Check, ErrUneven, and cancellation.ErrCancelled.
func Candidates(p *plan.Problem, o Options) (list []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	chunks, ok := p.Uniform()
	if !ok {
		return nil, fmt.Errorf("%w: every pair needs the same number of chunks, at least 1", ErrUneven)
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

// Sequences returns the offsets of phases that reach all GPUs in few hops, for each useful
// number of topologies as in Candidates. Sequences for plans without relaying come first,
// then those for plans with relaying. The result is indexed [plan][phase], with k offsets
// each. An offset that appears twice in a phase has two links.
//
// The sequences suit demands of any sizes, because methods that only fill links evenly for
// equal sizes are left out. The result is nil if n < 2, k < 1 or k >= n, or if Options.Stop
// ended the search.
func Sequences(n, k int, o Options) (list [][][]int) {
	var halted error
	defer func() {
		if halted != nil {
			list = nil
		}
	}()
	defer cancellation.Recover(&halted)
	if n < 2 || k < 1 || k >= n {
		return nil
	}
	const chunks, seed = 1, 0
	l := newPlanner(n, k, chunks, o, seed)
	var noSchedules []*sourceSchedule // so that no number of topologies is left out
	plain, relayed := l.synchronised(l.minHopSchedules(noSchedules))
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

// isOptimal reports whether the schedule meets the lower bound on the hops of circulants.
// Then no schedule with as many topologies takes fewer slots; if this one does not relay,
// only schedules without relaying are compared.
func (s *sourceSchedule) isOptimal() bool {
	phases, generators := s.usedPhases(), s.k
	if s.relay {
		phases, generators = 1, s.usedPhases()*s.k
	}
	return s.total() == minPhaseSlots(s.n, s.k, phases, generators, s.chunks)
}

// candidate returns the schedule as a candidate, which writes the plan when it is built.
func (s *sourceSchedule) candidate(origin string) plan.Candidate {
	return plan.Candidate{
		Origin:           origin,
		Reconfigurations: s.usedPhases(),
		Slots:            s.total(),
		Waits:            s.k > 1 || s.relay,
		Relay:            s.relay,
		Proved:           s.isOptimal(),
		Build: func(_ int64, stop cancellation.Condition) (p *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return s.timetable(stop).buildPlan(origin, stop)
		},
	}
}

// allToAllPlanner plans one uniform all-to-all.
type allToAllPlanner struct {
	n, k   int   // numbers of GPUs and of switches
	chunks int32 // chunks per pair
	// repeats is the factor by which the planned demand exceeds chunks, for lower bounds.
	repeats int32
	options Options
	seed    uint64
}

// newPlanner returns a planner for n GPUs of degree k with the given chunks per pair.
func newPlanner(n, k int, chunks int32, o Options, seed uint64) *allToAllPlanner {
	return &allToAllPlanner{
		n:       n,
		k:       k,
		chunks:  chunks,
		repeats: 1,
		options: o,
		seed:    seed,
	}
}

// random returns the stream of random numbers for a purpose and a number of phases.
func (l *allToAllPlanner) random(purpose string, d int) *rand.Rand {
	return random.Stream(l.seed, fmt.Sprintf("circulant/%s/%d/%d/%d", purpose, l.n, l.k, d))
}

// counts returns the wanted numbers of topologies.
func (l *allToAllPlanner) counts() []int { return l.filterWanted(l.allCounts()) }

// filterWanted removes numbers of topologies that are not wanted.
func (l *allToAllPlanner) filterWanted(list []int) []int {
	return slices.DeleteFunc(list, func(d int) bool {
		return l.options.Wanted != nil && !l.options.Wanted(d)
	})
}

// allCounts returns the useful numbers of topologies, wanted or not. They limit the time for large
// networks: up to maxDenseCounts all numbers are useful. For more, numbers above dense increase
// by an eighth, since the slots of the plans between them differ little.
func (l *allToAllPlanner) allCounts() []int {
	const maxDenseCounts, dense, step = 128, 32, 8
	maxCount := (l.n - 2 + l.k) / l.k // ceil((n-1)/k): all chunks take one hop
	var list []int
	for d := 1; d < maxCount; {
		list = append(list, d)
		if d < dense || maxCount <= maxDenseCounts {
			d++
		} else {
			d += d / step
		}
	}

	return append(list, maxCount)
}

// synchronised returns schedules whose switches reconfigure simultaneously, in two lists. The
// first has the given schedules, which do not relay, within the buffer limit. The second has
// schedules with relaying. Schedules that another one dominates are left out.
func (l *allToAllPlanner) synchronised(separate []*sourceSchedule) (_, relayed []*sourceSchedule) {
	var none []*sourceSchedule
	separate = frontier(none, separate)
	if l.options.BufferLimit > 0 {
		// Chunks that take one hop need no buffer, so at least one schedule fits.
		separate = frontier(none, l.fitBuffers(append(separate,
			l.schedulePhases(l.directPhases(), noPerturbations))))
	}
	if l.options.Relay {
		relayed = frontier(separate, l.fitBuffers(frontier(separate,
			l.relaySchedules())))
	}
	return separate, relayed
}

// frontier returns the schedules of list that take fewer slots than every schedule with at most
// as many topologies, in list or in over. They are sorted by number of topologies.
func frontier(over, list []*sourceSchedule) (result []*sourceSchedule) {
	slices.SortStableFunc(list, func(a, b *sourceSchedule) int {
		if c := a.usedPhases() - b.usedPhases(); c != 0 {
			return c
		}
		return int(a.total() - b.total())
	})

	for _, s := range list {
		if !slices.ContainsFunc(append(result, over...), func(t *sourceSchedule) bool {
			return t.usedPhases() <= s.usedPhases() && t.total() <= s.total()
		}) {
			result = append(result, s)
		}
	}

	return result
}
