package collective

import (
	"fmt"
	"slices"

	"sim/engine"
)

// Graph returns the collective as transfers that wait for each other, stream by stream, stage by stage, ring by ring,
// step by step and rank by rank; the last task is a milestone that ends with the collective. It fails where Check does,
// and where there are more than MaxTasks tasks.
func (c *Collective) Graph() (*engine.Graph, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	tasks := c.Tasks()
	if tasks > MaxTasks {
		return nil, tooMany(c.Op.String(), tasks)
	}
	g := &engine.Graph{}
	g.Grow(int(tasks), int(2*tasks))
	var last []int32
	for k := range c.Streams {
		last = append(last, c.addStream(g, k)...)
	}
	done := g.AddTask(engine.Task{})
	for _, id := range last {
		g.AddEdge(id, done, c.Latency)
	}
	g.Namer = func(id int32) string {
		if id == done {
			return c.Op.String()
		}
		return fmt.Sprintf("%s from %d to %d (transfer %d)", c.Op, g.Tasks[id].Src, g.Tasks[id].Dst, id)
	}
	return g, g.Freeze()
}

// Tasks returns the number of tasks of Graph: a transfer for each rank and step of each ring, and a milestone.
func (c *Collective) Tasks() int64 {
	sum := int64(0)
	for _, stream := range c.Streams {
		for _, stage := range stream {
			for _, ring := range stage {
				sum += int64(len(ring)) * int64(len(ring)-1)
			}
		}
	}
	if c.Op == AllReduce {
		sum *= 2
	}
	return sum + 1
}

// addStream adds the tasks of stream k and returns those that it ends with.
func (c *Collective) addStream(g *engine.Graph, k int) []int32 {
	// by rank: the transfer that brought it the last of what it has so far, and its own last transfer
	got, sent := slices.Repeat([]int32{-1}, c.Nodes), slices.Repeat([]int32{-1}, c.Nodes)
	var last []int32
	for _, r := range c.runs(k) {
		last = last[:0]
		for at, ring := range r.stage {
			n := len(ring)
			first := int32(len(g.Tasks)) // the transfer of rank i in step s is first + s*n + i
			for s := range n - 1 {
				for i, src := range ring {
					bytes := r.data[at].cut(r.chunk(i, s, n), n).bytes()
					id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: ring[(i+1)%n], Flows: 1, Bytes: bytes})
					if s > 0 {
						g.AddEdge(id-int32(n), id, 0)
						g.AddEdge(first+int32((s-1)*n+(i+n-1)%n), id, c.Latency)
						continue
					}
					if sent[src] >= 0 {
						g.AddEdge(sent[src], id, 0)
						g.AddEdge(got[src], id, c.Latency)
					}
				}
			}
			ends := first + int32((n-2)*n)
			for i, src := range ring {
				sent[src], got[src] = ends+int32(i), ends+int32((i+n-1)%n)
				last = append(last, ends+int32(i))
			}
		}
	}
	return last
}

// Traffic returns what each rank sends to each other in all. It fails where Check does.
func (c *Collective) Traffic() (*Traffic, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	type sum struct {
		engine.Flow
		bytes int64
	}
	var sums []sum
	for k := range c.Streams {
		for _, r := range c.runs(k) {
			for at, ring := range r.stage {
				n, d := len(ring), r.data[at]
				for i, src := range ring {
					// in n-1 steps all chunks but the one of step n-1
					b := d.bytes() - d.cut(r.chunk(i, n-1, n), n).bytes()
					sums = append(sums, sum{engine.Flow{Src: src, Dst: ring[(i+1)%n]}, b})
				}
			}
		}
	}
	slices.SortFunc(sums, func(a, b sum) int { return byPair(a.Flow, b.Flow) })
	t := &Traffic{Name: c.Op.String(), Nodes: c.Nodes}
	for i, s := range sums {
		if i > 0 && sums[i-1].Flow == s.Flow {
			t.Bytes[len(t.Bytes)-1] += s.bytes
			continue
		}
		t.Flows, t.Bytes = append(t.Flows, s.Flow), append(t.Bytes, s.bytes)
	}
	t.Message = slices.Max(t.Bytes)
	return t, nil
}
