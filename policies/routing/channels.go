package routing

import (
	"slices"

	"sim/engine"
)

// Values of the parameter segments of setChannels.
const (
	datelineRule = false
	segmentRule  = true
)

// setChannels sets the virtual channels of a path from a node by one of two rules, if all links
// have two channels. Otherwise all hops use channel 0.
//
// Dateline rule (Dally and Seitz, IEEE Trans. Computers C-36, 1987): in each dimension, hops up
// to and including the wrap-around link use channel 0, later hops use 1. It makes dimension-order
// routing free of deadlock.
//
// Segment rule (segments): the dimension-ordered end of the path has one segment per dimension.
// If a segment crosses a wrap-around link, hops up to and including it use channel 0 and later
// hops 1. If it crosses none, all its hops use 1. Wild hops before the segments use 0, or 1 on a
// wrap-around link. This makes wild-first routing free of deadlock if wild hops are taken in
// reverse dimension order. Zu et al., Sec. 4.2, state that restriction but not the channels.
//
// Wild hops are the hops before the longest end of the path that passes the dimensions in order,
// in one direction each.
func (z *geometry) setChannels(from int32, path []engine.Step, segments bool) {
	wild := 0
	if segments {
		wild = z.countWild(path)
	}
	for i := 0; i < len(path); {
		// The next group is a wild hop or a segment: hops by one port. Hops from index beyond on
		// follow the wrap-around link; beyond is -1 if the group has no such link.
		port, end, beyond := path[i].Port(), i, -1
		for ; end < len(path) && path[end].Port() == port && (end == i || i >= wild); end++ {
			k := int(from)*z.degree + port
			if beyond < 0 && z.isWrap[k] {
				beyond = end + 1
			}
			from = z.neighbour[k]
		}

		// Set beyond such that hops from index beyond on use channel 1, earlier ones channel 0: all
		// hops of the group if beyond is i, none if it is end.
		switch {
		case z.hasTwoChannels && (i < wild && beyond > 0 || i >= wild && beyond < 0 && segments):
			beyond = i
		case !z.hasTwoChannels || i < wild || beyond < 0:
			beyond = end
		}

		// Set the channels of the group.
		for ; i < end; i++ {
			channel := 0
			if i >= beyond {
				channel = 1
			}
			path[i] = engine.MakeStep(port, channel)
		}
	}
}

// countWild returns the number of hops before the longest dimension-ordered end of a path.
func (z *geometry) countWild(path []engine.Step) int {
	i := len(path) - 1
	for ; i > 0; i-- {
		a := path[i-1].Port() / 2
		b := path[i].Port() / 2
		if path[i-1].Port() != path[i].Port() && slices.Index(z.order, a) >= slices.Index(z.order, b) {
			break
		}
	}

	return max(i, 0)
}
