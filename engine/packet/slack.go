package packet

import (
	"fmt"

	"sim/engine"
)

// Slack returns by how much longer RunGraph may take than flow.Run does, where each flow has one walk and transfers
// share links as fluid does but for whole packets. At every link a packet is stored until its last bit has come, which
// fluid does not wait for; it waits for one packet of each other flow that takes the link, which fluid would share it
// with; and it takes the link's latency, which fluid has not. That is the delay of a transfer. No chain of tasks that
// wait for each other adds up to more than Slack, which is the largest sum of their delays.
//
// It is no proof where transfers are queued that do not come to an equal end: links serve packets as they come, or by
// rank, where fluid is shared at every moment.
func Slack(g *engine.Graph, n *engine.Network, flows []engine.Flow, walks *engine.Walks, bytes int32) (engine.Time, error) {
	if walks.Spread != nil || walks.First != nil {
		return 0, fmt.Errorf("%w: slack is of one walk a flow", ErrWork)
	}
	path := func(f int, do func(link int32)) {
		at := flows[f].Src
		for _, s := range walks.Steps(walks.ClassOf(int32(f))) {
			link := walks.Out(at, s)
			do(link)
			at = n.Links[link].To
		}
	}
	share := make([]float64, len(n.Links)) // flows that take a link
	for f := range flows {
		path(f, func(link int32) { share[link]++ })
	}
	delay := make(map[engine.Flow]float64, len(flows)) // in ticks
	for f, ends := range flows {
		sum := 0.0
		path(f, func(link int32) {
			l := &n.Links[link]
			sum += share[link]*8*float64(bytes)/l.Rate*float64(engine.Second) + float64(l.Latency)
		})
		if _, ok := delay[ends]; !ok {
			delay[ends] = sum
		}
	}
	late, most := make([]float64, len(g.Tasks)), 0.0
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			late[id] = max(late[id], late[e.From])
		}
		if t := &g.Tasks[id]; t.Kind == engine.Transfer {
			late[id] += delay[engine.Flow{Src: t.Src, Dst: t.Dst}]
		}
		most = max(most, late[id])
	}
	return engine.Time(most) + engine.Time(len(g.Tasks)), nil // ticks that fluid rounds by
}
