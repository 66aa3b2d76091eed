package placement

import (
	"math/bits"

	"sim/workloads/fleet"
)

// reconfigurablePods joins any free cubes by optical switches, so that a slice fits where enough are free (Sec. 3 of the
// paper). Of those it takes a run of cubes that are connected already where there is one, then the lowest numbers.
type reconfigurablePods struct{ prefersFullest bool }

func (reconfigurablePods) Rewires() bool { return true }

func (r reconfigurablePods) Place(p *Pod, want fleet.Shape) (Place, bool) {
	if want.Cubes() == 0 {
		return placeInCube(p, subcubeBlocks(want), r.prefersFullest)
	}
	free, n := p.Free(), want.Cubes()
	if bits.OnesCount64(free) < n {
		return Place{}, false
	}
	// Along the last dimension of a slice its cubes are rings: follow present connections of that dimension.
	list := make([]int8, 0, n)
	for len(list) < n {
		c := int8(bits.TrailingZeros64(free))
		for len(list) < n && c >= 0 && free>>c&1 == 1 {
			free &^= 1 << c
			list = append(list, c)
			c = p.Next[2][c]
		}
	}
	return Place{Cubes: list}, true
}
