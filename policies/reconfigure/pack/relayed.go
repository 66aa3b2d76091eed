package pack

import (
	"math"
	"math/rand/v2"
	"slices"
)

// relayed builds sequences of permutations for unequal demand where chunks may rest across reconfigurations: each
// permutation is the one that saves most hops given all others, and then others are chosen anew.
type relayed struct {
	n     int
	need  []int32
	into  []int32     // need, transposed
	list  [][][]int32 // list[i][j][u]: where permutation j of phase i connects u to
	turn  int
	match assignment
	work  int64 // additions so far, about

	// Hops: before[v][s] from s to v up to a phase, after[b][t] from b to t from that phase on,
	// all[t][s] by all, turned[s][t] the same.
	before, after, all, turned []uint16
	gain                       []int64
	rows                       packed
	from                       [][]int32
}

func newRelayed(n, k int, need []int32) *relayed {
	m := n * n
	r := &relayed{n: n, need: need, before: make([]uint16, m), after: make([]uint16, m), all: make([]uint16, m),
		turned: make([]uint16, m), into: make([]int32, m), gain: make([]int64, m), from: make([][]int32, k)}
	for i := range r.from {
		r.from[i] = make([]int32, n)
	}
	for i, x := range need {
		r.into[i%n*n+i/n] = x
	}
	return r
}

// fill adds to a phase the best permutations one by one until it has k.
func (r *relayed) fill(place, k int) {
	for len(r.list[place]) < k {
		r.total()
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
		r.total()
		r.list[place] = append(r.list[place], r.best(place))
		if now := r.total(); now < sum {
			sum = now
		} else {
			r.list[place] = old
		}
	}
	return sum
}

// exchange lets two GPUs of a permutation change their destinations, so many times at random, and undoes what does not
// save hops. It returns the hops of all chunks, which must be sum before.
func (r *relayed) exchange(times int, random *rand.Rand, sum int64) int64 {
	for range times {
		phase := r.list[random.IntN(len(r.list))]
		to := phase[random.IntN(len(phase))]
		u, v := random.IntN(r.n), random.IntN(r.n)
		to[u], to[v] = to[v], to[u]
		if now := r.total(); now < sum {
			sum = now
		} else {
			to[u], to[v] = to[v], to[u]
		}
	}
	return sum
}

// total returns the hops of all chunks by the present list, math.MaxInt64 if not all can arrive, and leaves all set.
func (r *relayed) total() (sum int64) {
	r.rows.reset(r.n)
	for _, phase := range r.list {
		r.rows.extend(phase)
	}
	r.rows.unpack(r.all)
	for i, x := range r.into {
		sum += int64(x) * int64(r.all[i])
		if x > 0 && r.all[i] >= noWay {
			return math.MaxInt64
		}
	}
	return sum
}

// best returns the permutation that saves most hops in a phase, counting the ways that begin or end with it. all must be
// set.
func (r *relayed) best(place int) []int32 {
	n := r.n
	r.work += 3 * int64(n) * int64(n) * int64(n)
	r.rows.reset(n)
	for _, phase := range r.list[:place+1] {
		r.rows.extend(phase)
	}
	r.rows.unpack(r.before)
	// Ways that begin at b: a permutation is put before them by following it against its direction.
	r.rows.reset(n)
	for i := len(r.list) - 1; i >= place; i-- {
		turned := r.from[:len(r.list[i])]
		for j, to := range r.list[i] {
			for u, v := range to {
				turned[j][v] = int32(u)
			}
		}
		r.rows.extend(turned)
	}
	r.rows.unpack(r.after)
	for t := range n {
		for s, x := range r.all[t*n : t*n+n] {
			r.turned[s*n+t] = x
		}
	}
	for u := range n {
		gain := r.gain[u*n : u*n+n]
		for b := range n {
			if b == u {
				gain[b] = -1 << 40
				continue
			}
			straight := max(0, int64(r.all[b*n+u])-1) * int64(r.need[u*n+b])
			gain[b] = saved(r.turned[u*n:u*n+n], r.after[b*n:b*n+n], r.need[u*n:u*n+n]) +
				saved(r.all[b*n:b*n+n], r.before[u*n:u*n+n], r.into[b*n:b*n+n]) - straight // which both count
		}
	}
	to := make([]int32, n)
	r.match.solve(n, r.gain, to)
	return to
}

// saved is the sum of demand x (hops - 1 - rest) where that is above 0.
func saved(hops, rest []uint16, demand []int32) (sum int64) {
	rest, demand = rest[:len(hops)], demand[:len(hops)]
	for i, x := range hops {
		sum += int64(max(0, int32(x)-1-int32(rest[i]))) * int64(demand[i])
	}
	return sum
}
