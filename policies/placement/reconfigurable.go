package placement

import "sim/workloads/fleet"

// reconfigurablePods joins any free cubes by optical switches, so a slice fits if enough cubes
// are free (Sec. 3 of the TPU v4 paper). It prefers cubes that are already connected, then low
// numbers. If prefersFullest is set, slices smaller than a cube go to the fullest cube.
type reconfigurablePods struct{ prefersFullest bool }

// Rewires implements Policy.
func (reconfigurablePods) Rewires() bool { return true }

// Place implements Policy.
func (r reconfigurablePods) Place(p *Pod, want fleet.Shape) (Place, bool) {
	if want.Cubes() == 0 {
		return placeInCube(p, want, r.prefersFullest)
	}

	// Any free cubes are a location if there are enough.
	free, n := p.Free(), want.Cubes()
	if free.Len() < n {
		return Place{}, false
	}

	// Along the last dimension the cubes of a slice form rings. Follow the present connections of
	// that dimension.
	const lastDim = 2
	list := make([]int16, 0, n)
	for len(list) < n {
		c := int16(free.First())
		for len(list) < n && c >= 0 && free.Has(int(c)) {
			free.remove(int(c))
			list = append(list, c)
			c = p.Next[lastDim][c]
		}
	}

	return Place{Cubes: list}, true
}
