package paths

import (
	"context"
	"errors"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// Bounds on how often two transfers are looked at in search of the latest end: some tenths of a second, and less where all
// begin at once, as it then says little.
const (
	mostPairs       = 1 << 25
	mostPairsAtOnce = 1 << 22
)

// within measures when a graph ends in packets that are all there from a time on, at the earliest and the latest,
// whatever order links serve them in (docs/model.md, "Two levels"). There is no latest where buffers are finite, links
// change or packets are sent again, and neither is sought of large work; no earliest where packets draw their paths.
func (a *routedAnswer) within(ctx context.Context, g *engine.Graph, flows []engine.Flow, paths *engine.Paths, rank []int32, from engine.Time, most int64) error {
	m := a.row.Metrics
	if l := &a.r.s.Fabric; l.Queue != "unbounded" || l.BitErrors > 0 || l.FailAt > 0 || m[a.r.end()] == 0 {
		return nil
	}
	late, err := packet.NewLatest(ctx, g, a.network, flows, paths, int32(a.r.s.Workload.Packet), rank, most)
	if errors.Is(err, packet.ErrLatest) {
		return nil
	}
	if err != nil {
		return err
	}
	m["latest_s"] = (from + late.Parts.Sum()).Seconds()
	m["latest_stored_s"], m["latest_shared_s"] = late.Parts.Stored.Seconds(), late.Parts.Shared.Seconds()
	if draws(paths) {
		return nil
	}
	routes, err := engine.RoutesOf(g, a.network, paths, flows)
	if err != nil {
		return err
	}
	e, err := flow.NewEvaluator(g, a.network, routes, flow.MaxMin)
	if err != nil {
		return err
	}
	e.SetContext(ctx)
	m["earliest_s"] = e.Bound().Seconds()
	return ctx.Err()
}

// draws reports whether packets draw one of several paths.
func draws(paths *engine.Paths) bool {
	for c := 0; c+1 < len(paths.First); c++ {
		if paths.First[c+1]-paths.First[c] > 1 {
			return true
		}
	}
	return paths.Spread != nil
}

// withinAtOnce is within of traffic that waits for nothing but its sources, where these do not wait for what they have
// sent.
func (a *routedAnswer) withinAtOnce(ctx context.Context, sources []packet.Source) error {
	if s := a.r.s.Workload.Source; s != "paced" && s != "greedy" {
		return nil
	}
	g, from := &engine.Graph{}, engine.Time(0)
	for _, s := range sources {
		each := float64(s.Count - 1)
		if s.Order != packet.Together {
			each = float64(s.Count*int64(s.End-s.First) - 1)
		}
		from = max(from, s.Start+engine.Time(s.Every*each))
		for f := s.First; f < s.End; f++ {
			t := a.r.load.flows[f]
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: t.Src, Dst: t.Dst, Flows: 1, Bytes: s.Count * int64(s.Bytes)})
		}
	}
	if err := g.Freeze(); err != nil {
		return err
	}
	return a.within(ctx, g, a.r.load.flows, a.walks, nil, from, mostPairsAtOnce)
}
