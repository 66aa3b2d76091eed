package routing

import (
	"slices"

	"sim/engine"
)

// setChannels sets the virtual channels of a path from a node, of which links have two or all hops take channel 0, by one
// of two rules.
//
// The dateline rule is channel 0 up to and including the wrap-around link of the dimension that is being routed, 1
// beyond it (Dally and Seitz, IEEE Trans. Computers C-36, 1987). It frees dimension-order routing of deadlock.
//
// The rule of segments is, along the dimension-ordered end of a path, channel 0 up to and including the wrap-around
// link in a dimension where the path crosses one, and 1 beyond it and wherever it crosses none; a wild hop before that
// takes channel 0, but 1 on a wrap-around link. It frees wild-first routing of deadlock where wild hops are taken in
// the reverse of the dimension order (Zu et al., Sec. 4.2, states the restriction, and not the channels). Wild hops are
// those before a path's longest end that goes through the dimensions in order, one direction in each.
func (z *geometry) setChannels(from int32, path []engine.Step, segments bool) {
	wild := 0
	if segments {
		wild = z.countWild(path)
	}
	for i := 0; i < len(path); {
		// a wild hop, or a segment: hops of one port, of which those from beyond on are after the wrap-around link
		port, end, beyond := path[i].Port(), i, -1
		for ; end < len(path) && path[end].Port() == port && (end == i || i >= wild); end++ {
			k := int(from)*z.degree + port
			if beyond < 0 && z.isWrap[k] {
				beyond = end + 1
			}
			from = z.neighbour[k]
		}
		switch {
		case z.hasTwoChannels && (i < wild && beyond > 0 || i >= wild && beyond < 0 && segments):
			beyond = i
		case !z.hasTwoChannels || i < wild || beyond < 0:
			beyond = end
		}
		for ; i < end; i++ {
			channel := 0
			if i >= beyond {
				channel = 1
			}
			path[i] = engine.MakeStep(port, channel)
		}
	}
}

// countWild returns the number of hops before the longest dimension-ordered end.
func (z *geometry) countWild(path []engine.Step) int {
	i := len(path) - 1
	for ; i > 0; i-- {
		a, b := path[i-1].Port()/2, path[i].Port()/2
		if path[i-1].Port() != path[i].Port() && slices.Index(z.order, a) >= slices.Index(z.order, b) {
			break
		}
	}
	return max(i, 0)
}
