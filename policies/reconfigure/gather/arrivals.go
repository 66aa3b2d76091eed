package gather

import "sim/engine"

// arrivals finds which messages of a phase bring a GPU what it sends.
type arrivals struct {
	n    int
	last []int32 // by GPU and shard: the last of its arrivals, one more
	list []arrival
}

type arrival struct {
	next, task, step int32
	piece            Piece
}

func newArrivals(n int) *arrivals { return &arrivals{n: n, last: make([]int32, n*n)} }

// wait makes a task wait for the messages of earlier steps that bring the sender something of what it sends.
func (a *arrivals) wait(g *engine.Graph, id int32, x *Tx) {
	before := int32(-1)
	for _, e := range x.Pieces {
		for at := a.last[int(x.From)*a.n+int(e.Shard)]; at > 0; at = a.list[at-1].next {
			o := &a.list[at-1]
			if o.step < x.Step && o.piece.Origin == e.Origin && o.piece.From < e.To && e.From < o.piece.To && o.task != before {
				before = o.task // pieces that came together are mostly sent together
				g.AddEdge(o.task, id, 0)
			}
		}
	}
}

// add takes up what a task brings.
func (a *arrivals) add(id int32, x *Tx) {
	for _, e := range x.Pieces {
		head := &a.last[int(x.To)*a.n+int(e.Shard)]
		a.list = append(a.list, arrival{*head, id, x.Step, e})
		*head = int32(len(a.list))
	}
}
