package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
)

// NoLender is the value of the key policy.lender_allocator that stands for no port-lending job.
const NoLender = "none"

// HasLender reports whether there is a port-lending job.
func (a *Allocation) HasLender() bool {
	return a.LenderAllocator != "" && a.LenderAllocator != NoLender
}

// LoanTies selects one of the topologies of the port-lending job with an acceptable
// makespan.
type LoanTies string

const (
	// FirstFound is the topology that the allocator chose.
	FirstFound LoanTies = "first"
	// BestForBorrower is the topology with minimum ports that is best for the borrowing
	// job.
	BestForBorrower LoanTies = "recipient"
	// BestOfAll is the topology, with any number of ports, that is best for the borrowing
	// job. A topology with more ports in total can use fewer in the pods where the
	// borrowing job needs them.
	BestOfAll LoanTies = "pareto"
)

// Loan is the decision of a port-lending job (DELTA, Sec. V-D).
type Loan struct {
	*Decision          // of the port-lending job
	Borrower  *Problem // problem of the borrowing job, with its own ports and the surplus
	Surplus   []int    // unused ports of the port-lending job, indexed by pod
	Choices   int      // number of topologies of the port-lending job that were compared
	// Incomplete is the reason why further topologies were not compared; "" if all were.
	Incomplete string
}

// Lend decides p with an allocator that minimises ports, within o.PortTolerance of the
// best makespan found, and gives the unused ports to the problem to, a job in the same
// pods. Among topologies of p that ties permits, it selects the one with which the
// borrowing job is fastest under delta-joint; ties go to the first found. It fails if the
// pods of the two jobs differ or if the allocator does not minimise ports.
func (p *Problem) Lend(ctx context.Context, by Policy, to *Problem, ties LoanTies, o Options) (*Loan, error) {
	if len(to.Fabric.Pods) != len(p.Fabric.Pods) || to.Fabric.Copies != p.Fabric.Copies {
		return nil, fmt.Errorf("topology: a port-lending job in %d pods of %d identical replicas and a borrowing job in %d of %d: both must have equal numbers",
			len(p.Fabric.Pods), p.Fabric.Copies, len(to.Fabric.Pods), to.Fabric.Copies)
	}

	d, err := by.Choose(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if d.Limit == 0 {
		return nil, fmt.Errorf("topology: the allocator of the port-lending job does not minimise ports")
	}
	g := &Loan{Decision: d, Choices: 1}
	if ties != FirstFound {
		if err := g.chooseForBorrower(ctx, p, to, ties, &o); err != nil {
			return nil, err
		}
	}

	g.Surplus = p.freePorts(d.Circuits)
	g.Borrower, err = to.withExtraPorts(g.Surplus)
	return g, err
}

// withExtraPorts returns the problem with additional ports in its pods.
func (p *Problem) withExtraPorts(more []int) (*Problem, error) {
	ports := make([]int, len(more))
	for i := range ports {
		ports[i] = p.Fabric.Pods[i].Ports + more[i]
	}
	return p.withPorts(ports)
}

// chooseForBorrower replaces the topology of the port-lending job by the one that is best
// for the borrowing job.
func (g *Loan) chooseForBorrower(ctx context.Context, p, to *Problem, ties LoanTies, o *Options) error {
	want := allMinima
	if ties == BestOfAll {
		want = paretoFrontier
	}
	list, complete, evaluations := p.alternatives(ctx, g.Decision, want, o)
	g.Evaluations += evaluations
	if !complete {
		g.Incomplete = fmt.Sprintf("more may be as good: the search for them stopped after %d evaluations", evaluations)
	}
	list = p.distinctSurpluses(list, to)
	g.Choices = len(list)
	best, shortest, spent := 0, never, int64(0)
	for i, t := range list {
		if len(list) == 1 || ctx.Err() != nil {
			break
		}
		if spent >= portEvaluationsOf(o) {
			g.Choices = i
			g.Incomplete = fmt.Sprintf("%d of %d that leave other ports were compared, in %d evaluations", i, len(list), spent)
			break
		}
		c, n, err := to.jointMakespanWith(ctx, p.freePorts(t.circuits))
		if err != nil {
			return err
		}
		spent += n * to.evaluationCost()
		g.Evaluations += n
		if isFaster(c, shortest) {
			best, shortest = i, c
		}
	}

	g.Circuits, g.Makespan, g.Service = list[best].circuits, list[best].makespan, list[best].service
	return ctx.Err()
}

// jointMakespanWith returns the shortest makespan that delta-joint finds with additional
// ports, and the evaluations used.
func (p *Problem) jointMakespanWith(ctx context.Context, more []int) (engine.Time, int64, error) {
	q, err := p.withExtraPorts(more)
	if err != nil {
		return never, 0, err
	}
	best := solveJoint(ctx, q, newSharedBudget())
	return best.makespan, best.evaluations, nil
}

// distinctSurpluses removes topologies whose surplus is no better for the borrowing job
// than the surplus of another one. Ports count only as far as the NICs of the borrowing
// job can fill them.
func (p *Problem) distinctSurpluses(list []portSolution, to *Problem) []portSolution {
	useful := make([]int, len(to.Fabric.Pods)) // ports that the borrowing job can fill
	for _, b := range to.Fabric.Bundles {
		n := b.Ends * max(1, int(b.Flows))
		useful[b.A] += n
		if !b.Peer {
			useful[b.B] += n
		}
	}

	// The surplus of each topology, limited to ports that the borrowing job can fill.
	gain := make([][]int, len(list))
	for i, t := range list {
		gain[i] = p.freePorts(t.circuits)
		for pod := range gain[i] {
			gain[i][pod] = min(gain[i][pod], max(0, useful[pod]-to.Fabric.Pods[pod].Ports))
		}
	}

	// Remove topologies whose gain is equal to an earlier one or dominated.
	var distinct []portSolution
	for i, t := range list {
		idle := slices.ContainsFunc(gain[:i], func(o []int) bool { return slices.Equal(o, gain[i]) }) ||
			slices.ContainsFunc(gain, func(o []int) bool { return dominates(o, gain[i]) && !slices.Equal(o, gain[i]) })
		if !idle {
			distinct = append(distinct, t)
		}
	}

	return distinct
}
