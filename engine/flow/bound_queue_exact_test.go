package flow_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// queueInstance returns a random graph of stages of tasks. Each transfer uses one link and can fill it, so
// that each resource is a machine with preemptive jobs.
func queueInstance(rng *rand.Rand) instance {
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	links := 1 + rng.IntN(3)
	for l := range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: float64(1+l) * 8e12}) // a byte is a tick on link 0
	}
	width := 2 + rng.IntN(3)
	for i := range int32(width * (2 + rng.IntN(3))) {
		k := engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: int64(1+rng.IntN(9)) * 6000}
		if rng.IntN(6) == 0 {
			k = engine.Task{Duration: engine.Time(rng.IntN(3)) * 5000}
		} else {
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(rng.IntN(links)), Weight: 1})
		}
		in.g.AddTask(k)
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		stage := i / int32(width) * int32(width)
		for j := range stage {
			if before := stage - int32(width); j >= before && rng.IntN(3) > 0 || j < before && rng.IntN(12) == 0 {
				in.g.AddEdge(j, i, engine.Time(rng.IntN(3))*1000)
			}
		}
	}
	if err := in.g.Freeze(); err != nil {
		panic(err)
	}
	return in
}

// job is a transfer on a machine: it is there after head and takes time; tail follows its end.
type job struct{ head, time, tail float64 }

// machine returns the makespan of preemptive jobs on one machine. It is the maximum over all sets of jobs
// of the minimum head plus all times plus the minimum tail. Only the sets of all jobs with at least some
// head and at least some tail matter.
func machine(jobs []job) float64 {
	best := 0.0
	for _, a := range jobs {
		for _, b := range jobs {
			sum := 0.0
			for _, j := range jobs {
				if j.head >= a.head && j.tail >= b.tail {
					sum += j.time
				}
			}
			if sum > 0 && a.tail >= b.tail && b.head >= a.head {
				best = max(best, a.head+sum+b.tail)
			}
		}
	}
	return best
}

// heads returns when tasks start at the earliest by the rule of QueueBound: after what leads to them by the graph, and
// after each resource has served what leads to them. Tasks are numbered against the edges of in, if it is reversed.
func heads(in instance, reversed bool) []float64 {
	n := int32(len(in.g.Tasks))
	type edge struct {
		from int32
		lag  float64
	}
	into := make([][]edge, n)
	for a := range n {
		for _, e := range in.g.Out(a) {
			if from, to := a, e.To; reversed {
				into[from] = append(into[from], edge{to, float64(e.Lag)})
			} else {
				into[to] = append(into[to], edge{from, float64(e.Lag)})
			}
		}
	}
	order := make([]int32, n)
	for k := range order {
		if order[k] = int32(k); reversed {
			order[k] = n - 1 - int32(k)
		}
	}
	head := make([]float64, n)
	for k, i := range order {
		dist := make([]float64, n) // from the end of a task to the start of i
		for a := range dist {
			dist[a] = -1
		}
		reach := func(to int32, behind float64) {
			for _, e := range into[to] {
				dist[e.from] = max(dist[e.from], behind+e.lag)
			}
		}
		reach(i, 0)
		byLink := map[int32][]job{}
		for b := k - 1; b >= 0; b-- {
			u := order[b]
			if dist[u] < 0 {
				continue
			}
			time := in.durationAlone(u)
			reach(u, dist[u]+time)
			head[i] = max(head[i], head[u]+time+dist[u])
			for _, use := range in.r.Of(u) {
				byLink[use.Resource] = append(byLink[use.Resource], job{head[u], time, dist[u]})
			}
		}
		for _, jobs := range byLink {
			head[i] = max(head[i], machine(jobs))
		}
	}
	return head
}

// TestQueueBoundIsExact: with all the work it needs, QueueBound is what its rule gives when every task looks at every
// resource and each machine at every set of jobs.
func TestQueueBoundIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	sharper := 0
	for range 1500 {
		in := queueInstance(rng)
		head, tail := heads(in, false), heads(in, true)
		want := 0.0
		byLink := map[int32][]job{}
		for i := range int32(len(in.g.Tasks)) {
			time := in.durationAlone(i)
			want = max(want, head[i]+time+tail[i])
			for _, u := range in.r.Of(i) {
				byLink[u.Resource] = append(byLink[u.Resource], job{head[i], time, tail[i]})
			}
		}
		for _, jobs := range byLink {
			want = max(want, machine(jobs))
		}
		e := in.evaluator(t, flow.MaxMin)
		got, _ := e.QueueBound(context.Background(), unlimitedWork)
		if below := want - float64(got); below < 0 || below > 20 {
			t.Fatalf("bound %d, want %.1f: %+v", got, want, in.g.Tasks)
		}
		if got > e.Bound()+20 {
			sharper++
		}
	}
	if sharper < 100 {
		t.Errorf("queues sharpen the bound of %d instances, want at least 100", sharper)
	}
}

// TestQueueBoundWork compares the bounds and the work of seeded instances under each limit on work with
// stored digests, so that a change of the order or of the counted work is found.
func TestQueueBoundWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	digest := fnv.New64a()
	for range 150 {
		in := queueInstance(rng)
		e := in.evaluator(t, flow.MaxMin)
		_, enough := e.QueueBound(context.Background(), unlimitedWork)
		for maxWork := range enough + 2 {
			bound, work := e.QueueBound(context.Background(), maxWork)
			fmt.Fprintln(digest, maxWork, bound/100, work, e.Work())
		}
	}
	if got, want := digest.Sum64(), uint64(0x8dd92fd96eab9737); got != want {
		t.Errorf("digest of bounds and work is %#x, want %#x", got, want)
	}
}
