package baselines

import "sim/policies/reconfigure/plan"

// SpreadOut sends to the GPUs at distance 1, 2 .. n-1 in turn, directly (paper Sec. 2.2). Each
// phase has k shifts, each on a switch, in ceil((n-1)/k) phases. Phases without chunks are left
// out. If the last phase has fewer shifts than switches, shifts use several. Errors:
// plan.ErrProblem.
func SpreadOut(p *plan.Problem, _ Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	n, k := p.GPUs, p.Degree
	var phases []directPhase
	for s := 1; s < n; s += k { // a phase with the shifts s..s+k-1
		var group []permutation
		for z := s; z < min(s+k, n); z++ {
			shift := permutation{to: make([]int32, n), chunks: make([]int32, n)}
			for u := range n {
				v := (u + z) % n
				shift.set(u, v, p.Chunks[u*n+v])
			}
			if shift.slots > 0 {
				group = append(group, shift)
			}
		}

		if len(group) > 0 {
			phases = append(phases, newDirectPhase(group, k))
		}
	}

	return []plan.Candidate{directCandidate(p, "shifts in turn", phases)}, nil
}
