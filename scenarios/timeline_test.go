package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/result"
	"sim/workloads/trace"
)

// TestTimeline checks the exported timeline of work on links. The spans of a thread do not
// overlap, and arrows point forward in time. Transfers and counters have the bytes of the
// simulation.
func TestTimeline(t *testing.T) {
	const step = `[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
`

	for name, text := range map[string]string{
		"torus": step + `[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
[engine]
level = "flow"
[policy]
routers = ["dor", "ecmp"]
`,
		"packets": step + `packet = "1MB"
[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
[engine]
level = "packet"
[policy]
routers = ["dor"]
`,
		"fat tree": step + `[fabric]
kind = "graph"
generator = "fat-tree"
switch_ports = 4
link_rate = "400Gbps"
[engine]
level = "flow"
[policy]
routers = ["shortest"]
`,
		"all-reduce": `[workload]
kind = "all-reduce"
message = "64MB"
[fabric]
kind = "torus"
dims = [4, 4]
[engine]
level = "flow"
[policy]
routers = ["dor"]
collective = "ring"
`,
	} {
		t.Run(name, func(t *testing.T) {
			s := mustParse(t, text)
			if why := s.NoTraceReason(); why != "" {
				t.Fatalf("got reason %q against a timeline, want none", why)
			}
			var work *trace.RankGraph
			o, err := Run(context.Background(), s,
				RunOptions{Workers: 1, Timeline: TimelineOptions{Tasks: DefaultTimelineTasks},
					VisitWork: func(w *trace.RankGraph) error { work = w; return nil }})
			if err != nil {
				t.Fatal(err)
			}

			// Export the timeline and read it as a list of trace events.
			var b bytes.Buffer
			if _, err := result.WriteTrace(&b, &o.Document, &o.Detail, result.Window{}); err != nil {
				t.Fatal(err)
			}
			type event struct {
				Ph, Cat, Name string
				Pid, Tid, ID  int
				Ts, Dur       float64
				Args          map[string]any
			}

			var f struct{ TraceEvents []event }
			if err := json.Unmarshal(b.Bytes(), &f); err != nil {
				t.Fatal(err)
			}

			// Read spans (X), starts and ends of arrows (s, f) and counters (C).
			sent := map[int]float64{}       // bytes of transfers, indexed by process
			arrows := map[int]float64{}     // start times in us, indexed by arrow
			free := map[[2]int]float64{}    // end of the last span in us, indexed by thread
			carried := map[string]float64{} // integral of the counter in bytes, indexed by name
			before := map[string]event{}    // previous event of each counter
			for _, e := range f.TraceEvents {
				switch e.Ph {
				case "X":
					thread := [2]int{e.Pid, e.Tid}
					if e.Dur < 0 || e.Ts < free[thread]-1e-6 {
						t.Fatalf("%q of thread %v at %g us overlaps the previous span",
							e.Name, thread, e.Ts)
					}
					if free[thread] = e.Ts + e.Dur; e.Cat == "transfer" {
						sent[e.Pid] += e.Args["bytes"].(float64)
					}
				case "s":
					arrows[e.ID] = e.Ts
				case "f":
					if from, ok := arrows[e.ID]; !ok || from > e.Ts {
						t.Fatalf("arrow %d ends at %g us and starts at %g us (known: %v), want a "+
							"start before its end", e.ID, e.Ts, from, ok)
					}
				case "C":
					if last, ok := before[e.Name]; ok && e.Pid == 2 {
						carried[e.Name] += last.Args["Gb/s"].(float64) * (e.Ts - last.Ts) * 125
					}
					if e.Pid == 2 {
						before[e.Name] = e
					}
				}
			}

			// The bytes of all spans equal the bytes of the task graph.
			want := 0.0
			for i := range work.Graph.Tasks {
				if k := &work.Graph.Tasks[i]; k.Kind == engine.Transfer {
					want += float64(k.Bytes)
				}
			}

			for i, row := range o.Document.Rows {
				if sent[i+2] != want {
					t.Errorf("%s sends %.0f B, want %.0f B", row.Policy, sent[i+2], want)
				}
			}

			if len(carried) == 0 || len(arrows) == 0 || want == 0 {
				t.Errorf("got %d counters and %d arrows, want some of both and transfers",
					len(carried), len(arrows))
			}

			// The maximum counter equals the busiest link.
			maxBytes := 0.0
			for _, bytes := range carried {
				maxBytes = max(maxBytes, bytes)
			}
			for _, file := range o.Files { // of links, whose bytes are counted independently
				maxLinkBytes := 0.0
				if file.Name == "links-"+o.Document.Rows[0].Policy+".csv" {
					maxLinkBytes = slices.Max(csvColumn(t, file.Data, "bytes"))
				}
				if maxLinkBytes > 0 && math.Abs(maxBytes/maxLinkBytes-1) > 1e-6 {
					t.Errorf("the maximum counter has %.0f B, want %.0f B as the busiest link",
						maxBytes, maxLinkBytes)
				}
			}

			if math.IsNaN(maxBytes) || maxBytes <= 0 {
				t.Errorf("the maximum counter has %g B, want more than 0", maxBytes)
			}
		})
	}
}

// TestTraceWindow checks traces of a part of simulated time, of work on links and on pods. They have
// the spans of the complete trace that overlap with the window. At its beginning, counters have the
// value of the complete trace.
func TestTraceWindow(t *testing.T) {
	type event struct {
		Ph, Name string
		Pid      int
		Ts, Dur  json.Number
		Args     map[string]any
	}
	picos := func(n json.Number) int64 { // from microseconds with six decimals
		v, err := strconv.ParseInt(strings.Replace(cmp.Or(string(n), "0.000000"), ".", "", 1), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}

	const step = `[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
[engine]
level = "flow"
[policy]
routers = ["dor"]
`
	for name, text := range map[string]string{"links": step, "pods": "base = \"gpt7b\"\npolicy.allocators = [\"uniform\"]\n"} {
		s := mustParse(t, text)
		// read runs the scenario and returns the events of its trace.
		read := func(w result.Window) (events []event) {
			o, err := Run(context.Background(), s, RunOptions{Workers: 1,
				Timeline: TimelineOptions{Tasks: DefaultTimelineTasks, Window: w}})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			spans, err := result.WriteTrace(&b, &o.Document, &o.Detail, w)
			if err != nil {
				t.Fatal(err)
			}
			var f struct{ TraceEvents []event }
			if err := json.Unmarshal(b.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			for _, e := range f.TraceEvents {
				if e.Ph == "X" {
					spans--
				}
			}
			if spans != 0 {
				t.Errorf("%s, %s: the number of spans is too large by %d, want it exact", name, w, spans)
			}
			return f.TraceEvents
		}

		// The ends of spans of the complete trace are borders of windows.
		all := read(result.Window{})
		var times []int64
		for _, e := range all {
			if e.Ph == "X" {
				times = append(times, picos(e.Ts), picos(e.Ts)+picos(e.Dur))
			}
		}
		slices.Sort(times)
		last := times[len(times)-1]
		for _, w := range []result.Window{
			{From: times[len(times)/3], To: times[len(times)/2]},
			{From: times[len(times)/3] + 1, To: times[len(times)/2] + 1},
			{From: times[len(times)/4]}, {To: times[len(times)/5]},
			{From: last, To: last + 1}, {From: last + 1},
		} {
			// describe lists the spans of events in the window, and the values of counters at
			// its beginning.
			describe := func(events []event) (list []string) {
				values := map[string]string{}
				for _, e := range events {
					start := picos(e.Ts)
					switch end := start + picos(e.Dur); {
					case e.Ph == "X" && start < cmp.Or(w.To, math.MaxInt64) && end > w.From:
						list = append(list, fmt.Sprint(e.Pid, e.Name, start, end, e.Args))
					case e.Ph == "C" && start <= w.From:
						values[fmt.Sprint(e.Pid, e.Name)] = fmt.Sprint(e.Args)
					}
				}
				for name, value := range values {
					list = append(list, name+" is "+value)
				}
				slices.Sort(list)
				return list
			}
			events := read(w)
			if got, want := describe(events), describe(all); !slices.Equal(got, want) {
				t.Errorf("%s, %s: got %d spans and rates, want %d of the complete trace:\n%q\n%q",
					name, w, len(got), len(want), got, want)
			}
			for _, e := range events {
				if at := picos(e.Ts); e.Ph == "C" && (at < w.From || w.To > 0 && at >= w.To) {
					t.Errorf("%s, %s: %s has a rate at %d ps, want none outside of the window",
						name, w, e.Name, at)
				}
			}
		}
	}
}

// TestTimelineOfPlans checks the timeline of a plan. It ends when the plan does and has all of
// its messages and reconfigurations. Each message starts after the tasks on which it depends
// have ended.
func TestTimelineOfPlans(t *testing.T) {
	const domain = `[fabric]
kind = "scaleup"
gpus = 8
switches = 2
link_rate = "800Gbps"
reconfiguration_delay = "10us"
`

	for name, text := range map[string]string{
		"slots": `[workload]
kind = "all-to-all"
message = "4MB"
chunk = "1MB"
` + domain + "[policy]\nplanners = [\"reconfigure-during\", \"spreadout\"]\n",
		"switches": `[workload]
kind = "all-to-all"
message = "4MB"
chunk = "1MB"
` + strings.NewReplacer("gpus = 8", "gpus = 16", "10us", "52500ns").Replace(domain) + "reconfigure = \"independent\"\n[policy]\nplanners = [\"reconfigure-during+\"]\n",
		"steps": "[workload]\nkind = \"all-reduce\"\nmessage = \"4MB\"\n" + domain + "[policy]\nplanners = [\"reconfigure-during+\", \"static-ring\"]\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := mustParse(t, text)
			if why := s.NoTraceReason(); why != "" {
				t.Fatalf("got reason %q against a timeline, want none", why)
			}
			o, err := Run(context.Background(), s,
				RunOptions{Workers: 1, Timeline: TimelineOptions{Tasks: DefaultTimelineTasks}})
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range o.Detail.Policies {
				// Count the tasks of the timeline and check their order.
				l, end, messages, arrows, reconfigurations := p.Timeline, int64(0), 0, 0, 0
				for _, k := range l.Tasks {
					end = max(end, k.End)
					if k.WaitedFor >= 0 {
						arrows++
						if before := l.Tasks[k.WaitedFor]; before.End > k.Start {
							t.Errorf("%s: %s starts at %d ps, want not before the end of %s at "+
								"%d ps", p.Policy, k.Name, k.Start, before.Name, before.End)
						}
					}
					if k.Transfer {
						messages++
					} else if reconfigurations++; int(k.Node) < 8 ||
						k.End-k.Start != int64(10*engine.Microsecond) && name != "switches" {
						t.Errorf("%s: reconfiguration %s on track %d for %d ps, want a track of "+
							"a switch and 10 us", p.Policy, k.Name, k.Node, k.End-k.Start)
					}
				}

				// Count the messages of the plan, in slots or in steps.
				want := 0
				plan := o.PlannerPlans[i]
				if want = len(plan.Tx); plan.Steps != nil {
					for ph := range plan.Steps.Phases {
						for _, m := range plan.Steps.Phases[ph].Messages() {
							if m.From != m.To {
								want++
							}
						}
					}
				}
				if got := float64(end) * 1e-12; math.Abs(got-p.MakespanS) > 1e-9*p.MakespanS ||
					messages != want || arrows != messages && name != "switches" || arrows == 0 ||
					len(l.Links) == 0 {
					t.Errorf("%s: got an end at %g s, want %g s; %d messages, want %d; %d arrows "+
						"and %d counters, want one arrow per message and some counters",
						p.Policy, got, p.MakespanS, messages, want, arrows, len(l.Links))
				}
				if name == "switches" {
					checkSwitchTracks(t, &p, plan)
				}
				if row := o.Document.Rows[i]; name == "slots" &&
					float64(reconfigurations) != row.Metrics["reconfigurations"] {
					t.Errorf("%s: got %d reconfigurations, want %g",
						p.Policy, reconfigurations, row.Metrics["reconfigurations"])
				}
			}
		})
	}
}

// checkSwitchTracks checks the timeline of a plan whose switches reconfigure independently. It
// has a track for each switch. A switch reconfigures as often as the plan states, for at least
// the delay, and sends no chunk during that time.
func checkSwitchTracks(t *testing.T, p *result.Simulation, q *plan.Plan) {
	t.Helper()
	l := p.Timeline
	if q.Switches == nil || len(l.Nodes) != q.GPUs+q.Degree || l.Nodes[q.GPUs] != "switch 0" ||
		l.Nodes[q.GPUs+q.Degree-1] != fmt.Sprintf("switch %d", q.Degree-1) {
		t.Fatalf("%s: got independent switches: %v, tracks %v; want one track per GPU and per "+
			"switch", p.Policy, q.Switches != nil, l.Nodes)
	}
	type span struct{ start, end int64 }
	reconfiguring, carries := make([][]span, q.Degree), make([][]span, q.Degree)
	x := 0
	for _, k := range l.Tasks {
		if !k.Transfer {
			s := int(k.Node) - q.GPUs
			reconfiguring[s] = append(reconfiguring[s], span{k.Start, k.End})
			continue
		}

		tx := q.Tx[x]
		x++
		s := slices.IndexFunc(q.Topologies[tx.Phase],
			func(e scaleup.Edge) bool { return e.From == tx.From && e.To == tx.To })
		carries[q.Switches[tx.Phase][s]] = append(carries[q.Switches[tx.Phase][s]], span{k.Start, k.End})
	}

	setups := make([]int, q.Degree)
	for _, l := range q.SwitchSetups() {
		setups[l.Switch]++
	}
	for s := range reconfiguring {
		if len(reconfiguring[s]) != setups[s] || setups[s] == 0 {
			t.Errorf("%s: switch %d reconfigures %d times, want %d times and at least once",
				p.Policy, s, len(reconfiguring[s]), setups[s])
		}
		for _, d := range reconfiguring[s] {
			if d.end-d.start < int64(52500*engine.Nanosecond) {
				t.Errorf("%s: switch %d reconfigures from %d to %d ps, want at least the delay "+
					"of 52500 ns", p.Policy, s, d.start, d.end)
			}
			for _, c := range carries[s] {
				if c.start < d.end && d.start < c.end {
					t.Errorf("%s: switch %d reconfigures from %d to %d ps and sends a chunk from "+
						"%d to %d ps, want no overlap", p.Policy, s, d.start, d.end, c.start, c.end)
				}
			}
		}
	}
}
