package collective

import (
	"slices"

	"sim/engine"
)

// linkRound is a key for the load of a link in a round. The round of a transfer is the number of
// transfers before it in its longest chain of dependencies.
type linkRound struct{ link, round int32 }

// Balance returns a copy of the schedule that chooses parallel links again, given the paths of
// its routed transfers: transfers with a choice avoid the links that routed ones use in the same
// round. It returns s itself if nothing is routed or no transfer has a choice. flows is the
// result of FlowsOnPaths, and paths are their paths.
func (s *Schedule) Balance(flows []engine.Flow, paths *engine.Paths) *Schedule {
	if len(flows) == 0 || paths.Spread != nil ||
		!slices.ContainsFunc(s.Transfers, s.hasLinkChoice) {
		return s
	}
	type share struct {
		link int32
		of   float64 // fraction of the transfer's bytes
	}

	// The links on the paths of each flow, with their shares.
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

	// Links that routed transfers load in each round.
	load := map[linkRound]float64{}
	round := s.rounds()
	for i, t := range s.Transfers {
		if t.Link < 0 {
			for _, x := range shares[engine.Flow{Src: s.Group[t.Src], Dst: s.Group[t.Dst]}] {
				load[linkRound{x.link, round[i]}] += x.of * float64(t.Bytes)
			}
		}
	}

	// Assign links in a copy, in addition to this load.
	balanced := *s
	balanced.Transfers = slices.Clone(s.Transfers)
	balanced.assignLinks(load)
	return &balanced
}

// assignLinks chooses links for transfers between ranks that parallel links join, and then sets
// Previous of all transfers. load is the bytes that links carry in addition; it is increased by
// the transfers.
//
// A transfer takes the link that finishes it first, counting only transfers of the same round.
// Loads of parallel links are then equal in every round, not only in total. Ties go to the link
// with the lowest load, and among equal loads, successive blocks of data take the links in turn.
// Since the choice depends only on the round, both halves of an all-reduce use the same links as
// a reduce-scatter and an all-gather.
func (s *Schedule) assignLinks(load map[linkRound]float64) {
	// A track is transfers that are sent one after the other.
	type track struct{ src, dst, link, stream int32 }
	last := map[track]int32{} // the last transfer of each track
	var round []int32
	if s.rankLinks.parallel {
		round = s.rounds()
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		if s.hasLinkChoice(*t) {
			// The search starts at a link that depends on the position of the data in the vector,
			// so that successive blocks take the links in turn.
			parallel := s.rankLinks.links[[2]int32{t.Src, t.Dst}]
			first := s.spans[t.span].From / t.Bytes
			best := int32(-1)
			earliest := 0.0
			busy := 0.0
			for k := range parallel {
				l := parallel[(first+int64(k))%int64(len(parallel))]
				carried := load[linkRound{l, round[i]}]
				rate := s.rankLinks.network.Links[l].Rate
				if end := (carried + float64(t.Bytes)) / rate; best < 0 || end < earliest ||
					end == earliest && carried/rate < busy {
					best = l
					earliest = end
					busy = carried / rate
				}
			}

			load[linkRound{best, round[i]}] += float64(t.Bytes)
			t.Link = best
		}

		// The previous transfer on the same link in the same stream.
		k := track{t.Src, t.Dst, t.Link, t.stream}
		t.Previous = -1
		if before, ok := last[k]; ok {
			t.Previous = before
		}
		last[k] = int32(i)
	}
}

// hasLinkChoice reports whether a transfer may take any of several parallel links.
func (s *Schedule) hasLinkChoice(t Transfer) bool {
	return s.rankLinks.parallel && t.Link >= 0 && !t.KeepsOrder &&
		len(s.rankLinks.links[[2]int32{t.Src, t.Dst}]) > 1
}

// rounds returns the round of each transfer; see linkRound.
func (s *Schedule) rounds() []int32 {
	round := make([]int32, len(s.Transfers))
	for i := range round {
		for _, w := range s.After(i) {
			round[i] = max(round[i], round[w]+1)
		}
	}
	return round
}
