package routing

import (
	"fmt"

	"sim/engine"
)

// Rules by which paths take virtual channels on tori, both with two.
const (
	// Dateline is channel 0 up to and including the wrap-around link of the dimension that is being routed, 1 beyond it
	// (Dally and Seitz, IEEE Trans. Computers C-36, 1987). It frees dimension-order routing of deadlock.
	Dateline = "dateline"
	// Segments is, along the dimension-ordered end of a path, channel 0 up to and including the wrap-around link in a
	// dimension where the path crosses one, and 1 beyond it and wherever it crosses none; a wild hop before that takes
	// channel 0, but 1 on a wrap-around link. It frees wild-first routing of deadlock where wild hops are taken in the
	// reverse of the dimension order (Zu et al., Sec. 4.2, states the restriction, and not the channels).
	Segments = "segments"
)

// rule returns the rule of that name; "" is own.
func rule(name, own string) (segments bool, err error) {
	if name == "" {
		name = own
	}
	if name != Dateline && name != Segments {
		return false, fmt.Errorf("%w: no rule %q of virtual channels; write %q or %q", ErrUnserved, name, Dateline, Segments)
	}
	return name == Segments, nil
}

// channels sets the virtual channels of a path from a node. Its wild hops are those before its longest end that goes
// through the dimensions in order, one way in each.
func (z *lattice) channels(from int32, walk []engine.Step, segments bool) {
	if !z.two {
		for i, s := range walk {
			walk[i] = engine.MakeStep(s.Port(), 0)
		}
		return
	}
	wild := 0
	if segments {
		wild = z.wild(walk)
	}
	for i := 0; i < len(walk); {
		port, at := walk[i].Port(), int(from)*z.degree
		if i < wild {
			c := 0
			if z.wraps[at+port] {
				c = 1
			}
			walk[i] = engine.MakeStep(port, c)
			from = z.next[at+port]
			i++
			continue
		}
		// a segment: hops of one port, the first after the wrap-around link being crossed
		end, crossed := i, -1
		for ; end < len(walk) && walk[end].Port() == port; end++ {
			k := int(from)*z.degree + port
			if crossed < 0 && z.wraps[k] {
				crossed = end + 1
			}
			from = z.next[k]
		}
		if crossed < 0 {
			if crossed = end; segments {
				crossed = i
			}
		}
		for ; i < end; i++ {
			c := 0
			if i >= crossed {
				c = 1
			}
			walk[i] = engine.MakeStep(port, c)
		}
	}
}

// wild returns the number of hops before the longest dimension-ordered end.
func (z *lattice) wild(walk []engine.Step) int {
	i := len(walk) - 1
	for ; i > 0; i-- {
		a, b := walk[i-1].Port(), walk[i].Port()
		if a != b && z.place(a/2) >= z.place(b/2) {
			break
		}
	}
	return max(i, 0)
}

// place returns the place of a dimension in the order.
func (z *lattice) place(dim int) int {
	for i, d := range z.order {
		if d == dim {
			return i
		}
	}
	return len(z.order)
}
