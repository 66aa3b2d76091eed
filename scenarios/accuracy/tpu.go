package accuracy

import (
	"context"
	"fmt"
	"regexp"
)

// torusShape matches the topology of a row: the dimensions of a torus, and T if it is twisted.
var torusShape = regexp.MustCompile(`^(\d+)x(\d+)x(\d+)(T?)$`)

// linksPerChip is the number of links of a TPU v4, two per dimension.
const linksPerChip = 6

// predictTorus predicts the rate per chip of an all-to-all on a torus, in GB/s, under optimised
// routes. The rows do not state which optical switch is down; it is one of dimension x.
func predictTorus(ctx context.Context, r *Row, machine string, _ *Options) (float64, error) {
	m := torusShape.FindStringSubmatch(r.Parameters["topology"])
	if m == nil || r.Parameters["collective"] != "all-to-all" || r.Unit != "GB/s/chip" {
		return 0, fmt.Errorf("sim poses all-to-all rates in GB/s/chip on tori such as 4x4x8T, not %s of %q on %q in %s",
			r.Metric, r.Parameters["collective"], r.Parameters["topology"], r.Unit)
	}
	twist, failed := "", ""
	if m[4] != "" {
		twist = "tpuv4"
	}
	switch fault := r.Parameters["fault"]; fault {
	case "", "none":
	case "one OCS":
		failed = `"x0"`
	default:
		return 0, fmt.Errorf("sim has no model of the fault %q", fault)
	}
	p, err := profileOf(machine)
	if err != nil {
		return 0, err
	}
	row, err := run(ctx, r, fmt.Sprintf(`
workload.kind = "all-to-all"
fabric = { kind = "torus", dims = [%s, %s, %s], twist = %q, failed_ocs = [%s], link_rate = %q }
policy.routers = ["route-optimised"]
engine.level = "static"
`, m[1], m[2], m[3], twist, failed, (p.HostBandwidth()/linksPerChip).String()))
	if err != nil {
		return 0, err
	}
	return row.Metrics["all_to_all_bytes_per_s"] / 1e9, nil
}
