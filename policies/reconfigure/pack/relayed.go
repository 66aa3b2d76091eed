package pack

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
)

// relayed builds sequences of permutations for unequal demand where chunks may rest across reconfigurations: each
// permutation is the one that saves most hops given all others, and then others are chosen anew.
type relayed struct {
	n    int
	need []int32
	into []int32 // need, transposed
	// by are the weights of need and of into.
	by    [2]*weights
	list  [][][]int32 // list[i][j][u]: where permutation j of phase i connects u to
	turn  int
	match graph.Assignment
	work  float64 // additions so far, about

	// stage[i] are the paths through the phases before phase i, trial[i] the same of a list that is being tried, and
	// all those of either through all phases; turned is all transposed. after[i], right from phase fresh on, are the
	// paths through the phases from i on, against their direction: row b is of those that begin at b.
	stage, trial, after []packed
	all                 *packed
	turned, near        packed
	fresh               int
	extender            extender
	gain                []int64
	back                [][]int32
	stop                halt.When
}

func newRelayed(n, k int, need []int32) relayed {
	r := relayed{n: n, need: need, into: make([]int32, n*n), gain: make([]int64, n*n), back: make([][]int32, k)}
	for i := range r.back {
		r.back[i] = make([]int32, n)
	}
	for i, x := range need {
		r.into[i%n*n+i/n] = x
	}
	r.by = [2]*weights{newWeights(n, need), newWeights(n, r.into)}
	return r
}

// set begins with a list, and returns the hops of all chunks, math.MaxInt64 if not all can arrive.
func (r *relayed) set(list [][][]int32) int64 {
	r.list, r.fresh = list, len(list)+1
	for len(r.stage) <= len(list) {
		r.stage, r.trial, r.after = append(r.stage, packed{}), append(r.trial, packed{}), append(r.after, packed{})
	}
	r.stage[0].reset(r.n)
	r.try(0)
	r.accept(0)
	return r.all.sum(r.into)
}

// try follows the paths through a phase that has changed and all after it.
func (r *relayed) try(place int) {
	r.all = &r.stage[place]
	for i := place; i < len(r.list); i++ {
		r.stop.Check()
		m := &r.trial[i+1]
		m.set(r.all)
		r.extender.extend(m, r.list[i])
		r.all = m
	}
}

// accept keeps what was tried.
func (r *relayed) accept(place int) {
	for i := place + 1; i < len(r.stage) && i <= len(r.list); i++ {
		r.stage[i], r.trial[i] = r.trial[i], r.stage[i]
	}
	r.all = &r.stage[len(r.list)]
	r.fresh = max(r.fresh, place+1)
}

// saves tries a phase that has changed, and keeps it if that lowers sum, the hops of all chunks before; it returns
// those after.
func (r *relayed) saves(place int, sum int64) (now int64, ok bool) {
	r.try(place)
	if sum == math.MaxInt64 {
		now = r.all.sum(r.into)
	} else {
		now = r.all.sumBeside(&r.stage[len(r.list)], sum, r.into)
	}
	if now >= sum {
		return sum, false
	}
	r.accept(place)
	return now, true
}

// fill adds to a phase the best permutations one by one until it has k.
func (r *relayed) fill(place, k int) {
	for len(r.list[place]) < k {
		r.try(place)
		r.list[place] = append(r.list[place], r.best(place))
	}
}

// renew takes permutations out, one after another and so many in all, and puts the best in again if that saves hops. It
// returns the hops of all chunks, which must be sum before.
func (r *relayed) renew(times int, sum int64) int64 {
	k := len(r.list[0])
	for range times {
		r.turn = (r.turn + 1) % (len(r.list) * k)
		place := r.turn / k
		old := r.list[place]
		r.list[place] = slices.Delete(slices.Clone(old), r.turn%k, r.turn%k+1)
		r.try(place)
		r.list[place] = append(r.list[place], r.best(place))
		var ok bool
		if sum, ok = r.saves(place, sum); !ok {
			r.list[place] = old
		}
	}
	return sum
}

// exchange lets two GPUs of a permutation change their destinations, so many times at random, and undoes what does not
// save hops. It returns the hops of all chunks, which must be sum before.
func (r *relayed) exchange(times int, random *rand.Rand, sum int64) int64 {
	for range times {
		place := random.IntN(len(r.list))
		to := r.list[place][random.IntN(len(r.list[place]))]
		u, v := random.IntN(r.n), random.IntN(r.n)
		to[u], to[v] = to[v], to[u]
		var ok bool
		if sum, ok = r.saves(place, sum); !ok {
			to[u], to[v] = to[v], to[u]
		}
	}
	return sum
}

// extendBack puts any number of hops of the permutations before all ways, which m has against their direction.
func (r *relayed) extendBack(m *packed, list [][]int32) {
	for j, to := range list {
		for u, v := range to {
			r.back[j][v] = int32(u)
		}
	}
	r.extender.extend(m, r.back[:len(list)])
}

// from returns the paths through the phases from place on, against their direction.
func (r *relayed) from(place int) *packed {
	if place < r.fresh {
		last := &r.after[len(r.list)]
		last.reset(r.n)
		for i := len(r.list) - 1; i >= place; i-- {
			r.after[i].set(last)
			last = &r.after[i]
			r.extendBack(last, r.list[i])
		}
		r.fresh = place
	}
	return &r.after[place]
}

// best returns the permutation that saves most hops in a phase, counting the paths that begin or end with it. The list
// must have been tried from there.
func (r *relayed) best(place int) []int32 {
	n := r.n
	r.work += choice(n)
	before := &r.trial[place+1]
	r.near.set(r.from(place + 1))
	r.extendBack(&r.near, r.list[place])
	r.turned.transpose(r.all)
	whole, halved := r.by[0].fit(r.all.longest())
	halved = halved && !whole && r.all.log == 4
	for u := range n {
		r.stop.Check()
		gain := r.gain[u*n : u*n+n]
		need := r.need[u*n : u*n+n]
		from, to := r.turned.row(u), before.row(u)
		for b := range n {
			if b == u {
				gain[b] = -1 << 40
				continue
			}
			straight := max(0, r.all.hops(b, u)-1) * int64(need[b])
			if whole || halved {
				gain[b] = r.all.saving(from, r.near.row(b), r.by[0].row(u), halved) +
					r.all.saving(r.all.row(b), to, r.by[1].row(b), halved) - straight
				continue
			}
			gain[b] = r.all.saved(from, r.near.row(b), need) +
				r.all.saved(r.all.row(b), to, r.into[b*n:b*n+n]) - straight // which both count
		}
	}
	to := make([]int32, n)
	r.match.Solve(n, n, r.gain, to, r.stop.Check)
	return to
}
