package collective

import (
	"slices"

	"sim/engine"
)

// linkRound names the load of a link in a round. A transfer is in the round after the last of those that it waits for.
type linkRound struct{ link, round int32 }

// Balance returns the schedule with parallel links chosen for the paths that its routed transfers take: the transfers
// that choose avoid the links that routed ones use in the same round. It returns s itself if nothing is routed or no
// transfer has a choice. flows and paths are those of Routed's pairs.
func (s *Schedule) Balance(flows []engine.Flow, paths *engine.Paths) *Schedule {
	if len(flows) == 0 || paths.Spread != nil || !slices.ContainsFunc(s.Transfers, s.hasLinkChoice) {
		return s
	}
	type share struct {
		link int32
		of   float64 // the transfer's bytes
	}
	shares := make(map[engine.Flow][]share, len(flows))
	for f, flow := range flows {
		class := paths.ClassOf(int32(f))
		first, end := paths.Of(class)
		for w := first; w < end; w++ {
			node := flow.Src
			for _, step := range paths.Steps(w) {
				l := paths.Out(node, step)
				shares[flow] = append(shares[flow], share{l, paths.ShareOf(class, w)})
				node = s.rankLinks.network.Links[l].To
			}
		}
	}
	load, round := map[linkRound]float64{}, s.rounds()
	for i, t := range s.Transfers {
		if t.Link < 0 {
			for _, x := range shares[engine.Flow{Src: s.Group[t.Src], Dst: s.Group[t.Dst]}] {
				load[linkRound{x.link, round[i]}] += x.of * float64(t.Bytes)
			}
		}
	}
	balanced := *s
	balanced.Transfers = slices.Clone(s.Transfers)
	balanced.assignLinks(load)
	return &balanced
}

// assignLinks chooses links for transfers between ranks that parallel links join, and then the transfers that others are sent
// behind. load is what links carry beside, in bytes, and is added to.
//
// A transfer takes the link that is done first with what it has in the transfer's round, so that parallel links have
// equal loads in every round and not only at the end. If some links are done first at the same time, it takes the one
// with the least load, and of those with equal loads, successive blocks of data take them in turn. The choice thus depends on the round alone: both halves of an all-reduce use the same links
// as a reduce-scatter and an all-gather.
func (s *Schedule) assignLinks(load map[linkRound]float64) {
	type track struct{ src, dst, link, stream int32 }
	last := map[track]int32{}
	var round []int32
	if s.rankLinks.parallel {
		round = s.rounds()
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		if s.hasLinkChoice(*t) {
			parallel := s.rankLinks.links[[2]int32{t.Src, t.Dst}]
			first, best, earliest, busy := s.spans[t.span].From/t.Bytes, int32(-1), 0.0, 0.0
			for k := range parallel {
				l := parallel[(first+int64(k))%int64(len(parallel))]
				has, rate := load[linkRound{l, round[i]}], s.rankLinks.network.Links[l].Rate
				if end := (has + float64(t.Bytes)) / rate; best < 0 || end < earliest || end == earliest && has/rate < busy {
					best, earliest, busy = l, end, has/rate
				}
			}
			load[linkRound{best, round[i]}] += float64(t.Bytes)
			t.Link = best
		}
		k := track{t.Src, t.Dst, t.Link, t.stream}
		t.Previous = -1
		if before, ok := last[k]; ok {
			t.Previous = before
		}
		last[k] = int32(i)
	}
}

// hasLinkChoice reports whether parallel links join the ends of a transfer, of which it takes any.
func (s *Schedule) hasLinkChoice(t Transfer) bool {
	return s.rankLinks.parallel && t.Link >= 0 && !t.Planned && len(s.rankLinks.links[[2]int32{t.Src, t.Dst}]) > 1
}

// rounds returns by transfer the most transfers that wait for each other before it.
func (s *Schedule) rounds() []int32 {
	round := make([]int32, len(s.Transfers))
	for i := range round {
		for _, w := range s.After(i) {
			round[i] = max(round[i], round[w]+1)
		}
	}
	return round
}
