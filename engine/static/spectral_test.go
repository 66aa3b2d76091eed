package static_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sim/engine"
)

// spectralNodes is the maximum number of nodes for spectralBound, whose time grows with their cube.
const spectralNodes = 1024

// spectralBound returns a lower bound on the cut between any two halves of the nodes (see
// Bisection). For halves of a and b of n nodes it is l2 a b / n, rounded up, where l2 is the
// second smallest eigenvalue of the Laplacian (Fiedler, "Algebraic Connectivity of Graphs",
// 1973; Donath and Hoffman, 1973). It returns an error for more than spectralNodes nodes.
func spectralBound(n *engine.Network) (int64, error) {
	nodes := int(n.Nodes)
	if nodes > spectralNodes {
		return 0, fmt.Errorf("static: the spectral bound of %d nodes; at most %d are taken", nodes, spectralNodes)
	}
	if nodes < 2 {
		return 0, nil
	}
	laplacian := mat.NewSymDense(nodes, nil)
	add := func(a, b int32, delta float64) {
		laplacian.SetSym(int(a), int(b), laplacian.At(int(a), int(b))+delta)
	}
	for _, l := range n.Links {
		if l.Rate > 0 && l.From != l.To {
			add(l.From, l.From, 1)
			add(l.To, l.To, 1)
			add(l.From, l.To, -1)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(laplacian, false) {
		return 0, fmt.Errorf("static: the eigenvalues of the Laplacian of %d nodes did not converge", nodes)
	}
	a := float64(nodes / 2)
	bound := eigen.Values(nil)[1] * a * (float64(nodes) - a) / float64(nodes)
	return max(0, int64(math.Ceil(bound-1e-6))), nil
}
