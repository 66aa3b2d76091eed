package circulant

import (
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// lit is the time, in slots from the start, in which a generator is up on its switch.
type lit struct{ gen, from, to int }

// build writes the plan out for a delay in slots.
func (e *epochs) build(name string, k int, delay int64, stop halt.When) (*plan.Plan, error) {
	if delay < 0 {
		return nil, fmt.Errorf("circulant: a reconfiguration delay of %d slots; it must be at least 0", delay)
	}
	up := make([][]lit, k)
	var end, hops int64
	ends := make([]int64, k)
	for g, x := range e.slots {
		if x > 0 {
			j := e.on[g]
			from := ends[j] + delay
			ends[j] = from + x
			up[j] = append(up[j], lit{g, int(from), int(ends[j])})
			end = max(end, ends[j])
			hops += x
		}
	}
	if end > math.MaxInt32 || hops*int64(e.n) > math.MaxInt32 {
		return nil, fmt.Errorf("circulant: a plan of %d slots and %d transmissions is too long to write out; %d is the most", end, hops*int64(e.n), math.MaxInt32)
	}
	jobs := e.jobs()
	seats, err := e.seat(jobs, up, int(end), stop)
	if err != nil {
		return nil, err
	}
	p := e.blank(name)
	p.Degree = k
	p.DelaySlots = int32(delay)
	p.Tx = make([]plan.Tx, 0, hops*int64(e.n))
	// A switch that has done its last epoch stays as it is.
	breaks := []int{0, int(end)}
	for _, list := range up {
		for i, x := range list {
			breaks = append(breaks, x.from)
			if i+1 < len(list) {
				breaks = append(breaks, x.to)
			}
		}
	}
	slices.Sort(breaks)
	breaks = slices.Compact(breaks)
	at := make([]int, len(jobs))
	for phase, from := range breaks[:len(breaks)-1] {
		var offsets []int
		var on []int32
		shift := make([]int, k)
		for j, list := range up {
			for i, x := range list {
				if x.from <= from && (from < x.to || i+1 == len(list)) {
					shift[j] = e.phases[x.gen][0]
					offsets, on = append(offsets, shift[j]), append(on, int32(j))
				}
			}
		}
		p.Topologies = append(p.Topologies, scaleup.Circulant(e.n, offsets...))
		p.Switches = append(p.Switches, slices.Repeat(on, e.n)) // as Circulant lists edges
		p.Slots = append(p.Slots, int32(breaks[phase+1]-from))
		for t := from; t < breaks[phase+1]; t++ {
			stop.Check()
			for j := range up {
				if i := seats[j][t]; i >= 0 {
					to := (at[i] + shift[j]) % e.n
					p.Tx = e.rotations(p.Tx, int32(phase), int32(t-from), at[i], to, jobs[i])
					at[i] = to
				}
			}
		}
	}
	return p, nil
}

// seat gives every hop of the epochs a slot: by switch and slot, the job that the switch carries, -1 for none. A chunk
// stands in consecutive slots of an epoch, until collisions on two switches are undone by changing places.
func (e *epochs) seat(jobs []job, up [][]lit, end int, stop halt.When) ([][]int32, error) {
	// The jobs of a generator are in[g]: pairs of a job and its hops.
	type part struct{ job, hops int32 }
	in := make([][]part, len(e.phases))
	for i, j := range jobs {
		for w := e.ways.first[j.way]; w < e.ways.first[j.way+1]; w++ {
			in[e.ways.gen[w]] = append(in[e.ways.gen[w]], part{int32(i), e.ways.count[w]})
		}
	}
	seats := make([][]int32, len(up))
	for j, list := range up {
		seats[j] = slices.Repeat([]int32{-1}, end)
		for _, x := range list {
			t := x.from
			for _, p := range in[x.gen] {
				for range p.hops {
					seats[j][t] = p.job
					t++
				}
			}
		}
	}
	// busy reports that a switch other than j carries job i in slot t.
	busy := func(i int32, t, j int) bool {
		for o := range seats {
			if o != j && seats[o][t] == i {
				return true
			}
		}
		return false
	}
	for j, list := range up {
		for _, x := range list {
			for t := x.from; t < x.to; t++ {
				i := seats[j][t]
				if !busy(i, t, j) {
					continue
				}
				stop.Check()
				other := x.from
				for other < x.to {
					o := seats[j][other]
					if o != i && !busy(i, other, j) && !busy(o, t, j) {
						break
					}
					other++
				}
				if other == x.to {
					return nil, fmt.Errorf("circulant: a chunk to offset %d would be on two switches in slot %d", jobs[i].dest, t)
				}
				seats[j][t], seats[j][other] = seats[j][other], i
			}
		}
	}
	return seats, nil
}
