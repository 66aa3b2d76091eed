package scenarios

import (
	"math"
	"strings"
	"testing"

	"sim/policies/routing"
)

// TestRouterDraws checks routers that draw links at random per pair, per node or per packet.
// Loads are the same at all levels, and per pair is the default. Levels flow and packet take
// about equally long, and no packet is lost. Exported forwarding tables have shares if and only
// if links are drawn per packet.
func TestRouterDraws(t *testing.T) {
	text := strings.Replace(smallTorus, `["dor"]`, `["ecmp", "random-shortest"]`, 1)
	all := func(set ...string) []string {
		return append([]string{"workload.message=64KB", "fabric.dims=[4, 6]"}, set...)
	}
	plain := runText(t, text, all("engine.level=static")...).Document.Rows
	for _, draw := range routing.Draws {
		set := func(others ...string) []string {
			return all(append(others, "policy.ecmp.draw="+draw, "policy.random-shortest.draw="+draw)...)
		}
		static := runText(t, text, set("engine.level=static")...).Document.Rows
		fluid := runText(t, text, set("engine.level=flow")...).Document.Rows
		o := runText(t, text, set("engine.level=packet", "workload.source=paced")...)
		for i := range static {
			row := &o.Document.Rows[i]
			checkConservation(t, draw, row)
			load := static[i].Metrics["max_link_load"]
			if load != fluid[i].Metrics["max_link_load"] || load != row.Metrics["max_link_load"] ||
				(draw == routing.DrawPair) != (load == plain[i].Metrics["max_link_load"]) {
				t.Errorf("%s, draw per %s: got loads %g, %g and %g at levels static, flow and "+
					"packet, by default %g; want equal levels, and the default per pair only",
					row.Policy, draw, load, fluid[i].Metrics["max_link_load"],
					row.Metrics["max_link_load"], plain[i].Metrics["max_link_load"])
			}
			f := fluid[i].Metrics["completion_s"]
			if math.Abs(f/static[i].Metrics["fluid_s"]-1) > 1e-6 {
				t.Errorf("%s, draw per %s: got %g s at level flow, want %g s as the busiest link",
					row.Policy, draw, f, static[i].Metrics["fluid_s"])
			}
			ratio := row.Metrics["over_fluid"]
			// Packets with random paths queue.
			if maxRatio := 1.03; ratio < 0.97 || ratio > maxRatio && draw != routing.DrawPacket ||
				ratio > 1.5 {
				t.Errorf("%s, draw per %s: level packet takes %g times as long as level flow, "+
					"want about 1", row.Policy, draw, ratio)
			}
			files, err := o.Routes[i].Compile()
			if err != nil {
				t.Fatal(err)
			}
			var data strings.Builder
			err = files.Tables(&data)
			if head := "chip,destination,port,next,share\n"; err != nil ||
				strings.HasPrefix(data.String(), head) != (draw == routing.DrawPacket) {
				t.Errorf("%s, draw per %s: got tables that start with %.40q, error %v; want "+
					"shares only if drawn per packet", row.Policy, draw, data.String(), err)
			}
		}

		for _, others := range [][]string{ // other queues and faults
			{"fabric.queue=20p", "workload.source=greedy"}, {"fabric.bit_errors=1e-6"},
			{`fabric.failed_links=["0 x+"]`, "fabric.failure_time=10us", "fabric.reroute_delay=5us"},
		} {
			rows := runText(t, text, set(others...)...).Document.Rows
			for i := range rows {
				checkConservation(t, others, &rows[i])
			}
		}
	}

	row := runText(t, text, all("policy.ecmp.draw=packet", "engine.level=static")...).Document.Rows[0]
	if !strings.HasPrefix(row.Labels["deadlock"], "possible") || row.Labels["table_entries"] == "" {
		t.Errorf("ecmp, draw per packet: got labels %v, want a possible deadlock and the number "+
			"of table entries", row.Labels)
	}
}

// TestDefaultRouter: without policy.routers, fabrics of links other than tori are routed by ecmp,
// which loads a fat tree less than the first link created. The router spray gives the loads of
// ecmp with draws per packet, and the least of the three.
func TestDefaultRouter(t *testing.T) {
	const tree = `
workload = {kind = "all-to-all", message = "1MB"}
fabric = {kind = "graph", generator = "fat-tree", levels = 2, switch_ports = 8, oversubscription = 1}
engine.level = "static"
`
	loads := map[string]float64{} // keyed by router
	for _, row := range runText(t, tree, `policy.routers=["shortest", "ecmp", "spray"]`).Document.Rows {
		loads[row.Policy] = row.Metrics["max_link_load"]
	}
	rows := runText(t, tree).Document.Rows
	if len(rows) != 1 || rows[0].Policy != "ecmp" || rows[0].Metrics["max_link_load"] != loads["ecmp"] {
		t.Errorf("the default is %s with load %g, want ecmp with %g",
			rows[0].Policy, rows[0].Metrics["max_link_load"], loads["ecmp"])
	}
	perPacket := runText(t, tree, `policy.routers=["ecmp"]`, "policy.ecmp.draw=packet").Document.Rows[0]
	if got := loads["spray"]; got != perPacket.Metrics["max_link_load"] || got >= loads["ecmp"] || loads["ecmp"] >= loads["shortest"] {
		t.Errorf("loads %v, want spray at %g, below ecmp, below shortest", loads, perPacket.Metrics["max_link_load"])
	}
	if rows := runText(t, `
workload = {kind = "all-to-all", message = "1MB"}
fabric = {kind = "electrical", gpus = 8, link_rate = "400Gbps"}
`).Document.Rows; rows[0].Policy != "ecmp" {
		t.Errorf("the default behind one switch is %s, want ecmp", rows[0].Policy)
	}
}
