package baselines

import (
	"fmt"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Bruck is the index algorithm (Bruck et al., 1997, Sec. 3; paper Sec. 2.2). A chunk for the GPU
// at distance D follows the digits of D to the radix r, lowest first: one hop of z*r^i for digit
// z at position i. Chunks wait at GPUs across reconfigurations (Candidate.Relay).
//
// The r-1 shifts of a position take ceil((r-1)/k) phases, so that r = k+1 takes ceil(log_{k+1} n)
// phases in total. If a phase has fewer shifts than switches, shifts use several switches. Phases
// without chunks are left out. The result is the frontier over all radices 2..n. Errors:
// plan.ErrProblem.
func Bruck(p *plan.Problem, o Options) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	byDistance := chunksByDistance(p)
	var list []plan.Candidate
	for r := 2; r <= p.GPUs; r++ {
		o.Stop.Check()
		phases, slots := bruckPhases(p, byDistance, r)
		c := plan.Candidate{
			Origin:           fmt.Sprintf("Bruck, radix %d", r),
			Reconfigurations: len(phases),
			Relay:            true,
		}
		for _, s := range slots {
			c.Slots += int64(s)
		}
		// All switches reconfigure together, so the plan is the same for all delays.
		c.Build = func(_ int64, stop cancellation.Condition) (out *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return bruckPlan(p, r, stop), nil
		}
		list = append(list, c)
	}

	return plan.Frontier(list), nil
}

// bruckPhase moves the chunks whose digit at one position i of their distance is in
// low..low+len(links)-1. Chunks with digit low+j take one hop of (low+j)*power.
type bruckPhase struct {
	power int     // r^i
	low   int     // lowest digit of the phase
	links []int32 // links per GPU for digit low+j, indexed by j
}

// bruckPhases returns the phases for radix r and their slots.
func bruckPhases(p *plan.Problem, byDistance []int32, r int) (phases []bruckPhase, slots []int32) {
	n, k := p.GPUs, p.Degree
	for power := 1; power < n; power *= r {
		// No GPU is farther than n-1, so larger digits do not occur.
		digits := min(r-1, (n-1)/power)
		load := bruckLoads(p, byDistance, r, power, digits)
		for low := 1; low <= digits; low += k {
			group := load[low-1 : min(low-1+k, digits)]
			links, maxSlots := shareLinks(group, k)
			if maxSlots > 0 {
				phases = append(phases, bruckPhase{power: power, low: low, links: links})
				slots = append(slots, maxSlots)
			}
		}
	}

	return phases, slots
}

// chunksByDistance returns the chunks from GPU u to GPU u+d (mod n) at index d*n+u, or nil if all
// pairs have the same number.
func chunksByDistance(p *plan.Problem) []int32 {
	if _, uniform := p.Uniform(); uniform {
		return nil
	}
	n := p.GPUs
	chunks := make([]int32, n*n)
	for f, c := range p.Chunks {
		chunks[(f%n-f/n+n)%n*n+f/n] = c
	}
	return chunks
}

// bruckLoads returns, for each digit z = 1..digits of the position with the given power, the maximum
// number of chunks that a GPU sends over the shift z*power. Index z-1 is for digit z.
func bruckLoads(p *plan.Problem, byDistance []int32, r, power, digits int) []int32 {
	n := p.GPUs
	if byDistance == nil { // all GPUs send the same number
		uniform := p.Chunks[1]
		maxLoad := make([]int32, digits)
		for d := 1; d < n; d++ {
			if z := d / power % r; z > 0 {
				maxLoad[z-1] += uniform
			}
		}
		return maxLoad
	}

	// Count the chunks that each GPU sends at this position.
	load := make([]int32, n*digits)
	for d := 1; d < n; d++ {
		z := d / power % r
		if z == 0 {
			continue
		}

		// Chunks from GPU u are now at u + d%power.
		rotated := load[(z-1)*n : z*n]
		sent := byDistance[d*n : (d+1)*n]
		rotation := d % power
		for i, c := range sent[:n-rotation] {
			rotated[rotation+i] += c
		}
		for i, c := range sent[n-rotation:] {
			rotated[i] += c
		}
	}

	maxLoad := make([]int32, digits)
	for z := range maxLoad {
		for _, c := range load[z*n : (z+1)*n] {
			maxLoad[z] = max(maxLoad[z], c)
		}
	}
	return maxLoad
}

// bruckPlan returns the plan for radix r.
func bruckPlan(p *plan.Problem, r int, stop cancellation.Condition) *plan.Plan {
	n := p.GPUs
	phases, slots := bruckPhases(p, chunksByDistance(p), r)
	out := newPlan(p)
	out.Relay, out.Slots = true, slots
	for i, f := range phases {
		// The topology has links[j] parallel edges of shift (low+j)*power from each GPU.
		t := make(scaleup.Topology, 0, n*p.Degree)
		for u := range n {
			for j, c := range f.links {
				for range c {
					t = append(t, scaleup.Edge{
						From: int32(u),
						To:   int32((u + (f.low+j)*f.power) % n),
					})
				}
			}
		}

		out.Topologies = append(out.Topologies, t)

		// The chunks with digit low+j are now d%power GPUs after their source. sent[j*n+u] counts the
		// chunks that GPU u has sent over shift j; each slot takes as many as there are links.
		sent := make([]int32, n*len(f.links))
		for flow, chunks := range p.Chunks {
			if flow%n == 0 {
				stop.Check()
			}
			src, d := flow/n, (flow%n-flow/n+n)%n
			j := d/f.power%r - f.low
			if chunks == 0 || j < 0 || j >= len(f.links) {
				continue
			}
			from := (src + d%f.power) % n

			count := &sent[j*n+from]
			for x := range chunks {
				out.Tx = append(out.Tx, plan.Tx{
					Phase: int32(i),
					Slot:  *count / f.links[j],
					From:  int32(from),
					To:    int32((from + (f.low+j)*f.power) % n),
					Src:   int32(src),
					Dst:   int32(flow % n),
					Chunk: x,
				})

				*count++
			}
		}
	}

	return out
}
