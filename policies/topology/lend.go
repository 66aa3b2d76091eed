package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
)

// NoDonor is the value of policy.donor where no other job lies in the pods.
const NoDonor = "none"

// HasDonor reports whether another job in the pods leaves ports to the scenario's.
func (a *Allocation) HasDonor() bool { return a.Donor != "" && a.Donor != NoDonor }

// LoanTies says which topology a port-lending job takes of those that keep its makespan.
type LoanTies string

const (
	// FirstFound is the one that its allocator chose.
	FirstFound LoanTies = "first"
	// BestForBorrower is, of those with the fewest ports, the one that leaves them where the borrowing job gains most.
	BestForBorrower LoanTies = "recipient"
	// BestOfAll is the same of all that keep the makespan, however many ports they take: one more may be dearer to the
	// port-lending job than to the borrowing job.
	BestOfAll LoanTies = "pareto"
)

// Loan is what a job decides that leaves ports to another (DELTA, Sec. V-D).
type Loan struct {
	*Decision          // the port-lending job's
	Borrower  *Problem // that of the other job, with the surplus beside its own ports
	Surplus   []int    // by pod: the port-lending job's ports that it does not use
	Choices   int      // topologies of the port-lending job that were compared
	// Incomplete says why not all that could be were compared; "" if they were.
	Incomplete string
}

// Lend lets an allocator that saves ports decide on p, within o.PortTolerance of the best makespan it finds, and
// leaves what it does not need to another job in the same pods. What serves that one best is what makes its iteration
// shortest with rates chosen freely, as delta-joint would; equal ones go to the first found. It fails where the jobs'
// pods differ or the allocator saves no ports.
func (p *Problem) Lend(ctx context.Context, by Policy, to *Problem, ties LoanTies, o Options) (*Loan, error) {
	if len(to.Fabric.Pods) != len(p.Fabric.Pods) || to.Fabric.Copies != p.Fabric.Copies {
		return nil, fmt.Errorf("topology: a port-lending job in %d pods of %d identical replicas and a borrowing job in %d of %d: they must be the same",
			len(p.Fabric.Pods), p.Fabric.Copies, len(to.Fabric.Pods), to.Fabric.Copies)
	}
	d, err := by.Choose(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if d.Limit == 0 {
		return nil, fmt.Errorf("topology: the port-lending job's allocator saves no ports")
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

// withExtraPorts returns the problem with more ports in its pods.
func (p *Problem) withExtraPorts(more []int) (*Problem, error) {
	ports := make([]int, len(more))
	for i := range ports {
		ports[i] = p.Fabric.Pods[i].Ports + more[i]
	}
	return p.withPorts(ports)
}

// chooseForBorrower replaces the port-lending job's topology by the one that serves the borrowing job best.
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
		if float64(c) < float64(shortest)*(1-relTol/10) {
			best, shortest = i, c
		}
	}
	g.Circuits, g.Makespan, g.Service = list[best].circuits, list[best].makespan, list[best].service
	return ctx.Err()
}

// jointMakespanWith returns the shortest makespan found with more ports, rates chosen freely, and the evaluations that took.
func (p *Problem) jointMakespanWith(ctx context.Context, more []int) (engine.Time, int64, error) {
	q, err := p.withExtraPorts(more)
	if err != nil {
		return never, 0, err
	}
	best := solveJoint(ctx, q, newSharedBudget())
	return best.makespan, best.evaluations, nil
}

// distinctSurpluses leaves out what gives the borrowing job no port that it can fill beyond what another gives it.
func (p *Problem) distinctSurpluses(list []portSolution, to *Problem) []portSolution {
	most := make([]int, len(to.Fabric.Pods)) // ports that the borrowing job can fill
	for _, b := range to.Fabric.Bundles {
		n := b.Ends * max(1, int(b.Flows))
		most[b.A] += n
		if !b.Peer {
			most[b.B] += n
		}
	}
	gain := make([][]int, len(list))
	for i, t := range list {
		gain[i] = p.freePorts(t.circuits)
		for pod := range gain[i] {
			gain[i][pod] = min(gain[i][pod], max(0, most[pod]-to.Fabric.Pods[pod].Ports))
		}
	}
	var kept []portSolution
	for i, t := range list {
		idle := slices.ContainsFunc(gain[:i], func(o []int) bool { return slices.Equal(o, gain[i]) }) ||
			slices.ContainsFunc(gain, func(o []int) bool { return dominates(o, gain[i]) && !slices.Equal(o, gain[i]) })
		if !idle {
			kept = append(kept, t)
		}
	}
	return kept
}
