package accuracy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sim/engine/units"
	"sim/fabric/machine"
	"sim/policies/collective"
	"sim/scenarios"
)

// Estimate predicts the value of a row on a profile that need not be in a file. Fits of profiles
// call it thousands of times, so it uses formulas if they predict the rows of a class, and
// otherwise runs a scenario.
func Estimate(ctx context.Context, r *Row, p *machine.Profile) (float64, error) {
	c := classOf(r)
	if c.estimate != nil {
		return c.estimate(ctx, r, p)
	}
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "machine.toml")
	if err := os.WriteFile(file, scenarios.WriteMachine(p), 0o666); err != nil {
		return 0, err
	}
	prediction := predictRow(ctx, r, &Options{Machine: file})
	if prediction.Reason != "" {
		return 0, errors.New(prediction.Reason)
	}
	return prediction.Value, nil
}

// estimateKernel returns the function estimate of a class whose function predict reads nothing but
// the profile.
func estimateKernel(predict func(context.Context, *Row, string, *Options) (float64, error)) func(context.Context, *Row, *machine.Profile) (float64, error) {
	return func(ctx context.Context, r *Row, p *machine.Profile) (float64, error) {
		return predict(ctx, r, "", &Options{fitted: p})
	}
}

// callKinds maps names of collectives to kinds of calls.
var callKinds = map[string]collective.Kind{
	"all-reduce": collective.AllReduce, "all-gather": collective.AllGather, "reduce-scatter": collective.ReduceScatter,
	"all-to-all": collective.AllToAll, "send-recv": collective.SendReceive, "broadcast": collective.Broadcast, "reduce": collective.Reduce,
}

// estimateCall is predictCall by the time that the library predicts, because links without other
// traffic carry a call in this time.
func estimateCall(_ context.Context, r *Row, p *machine.Profile) (float64, error) {
	nodes, _, err := nodesOf(r, p)
	if err != nil {
		return 0, err
	}
	kind, ok := callKinds[r.Parameters["collective"]]
	if !ok {
		return 0, fmt.Errorf("no library performs the call %q", r.Parameters["collective"])
	}
	if rate := networkRate(r); rate > 0 && p.ScaleOut.Latency == 0 { // as in predictCall
		p = p.WithNodes(p.GPUsPerNode, p.HostBandwidth(), units.Rate(float64(rate)/float64(p.GPUsPerNode)*p.ScaleOut.Efficiency))
	}
	seconds, err := collective.LibrarySeconds(p, kind, r.GPUs, nodes, callBytes(r), libraryAlgorithms[strings.ToLower(r.Parameters["algo"])])
	if err != nil {
		return 0, err
	}
	return callValue(r, seconds)
}
