//go:build ignore

// Reproduction runs the evaluation of the DELTA paper with the sim command and
// prints its tables as Markdown:
//
//	go run docs/reproduction.go            prints them
//	go run docs/reproduction.go -w FILE    puts them between the marks of FILE
//
// Run it in the root of the repository. It needs Go alone and writes nothing
// else outside a temporary directory. What it prints beside the paper's figures
// is what the runs say; docs/reproduction.md discusses it.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// model is a workload of Table I with what the paper says of it.
type model struct {
	scenario, name           string
	gap400, gap1600          string // to the ideal fabric, by bandwidth in Gb/s (Sec. V-B)
	gap2048, gap16384        string // and by sequence length (Sec. V-C)
	overBandwidths           string // largest reduction against the best baseline
	overTopo, overSequences  string
	portsTopo, portsJoint    string // Fig. 9
	donated                  string // Fig. 10
	timeTopo, timeJoint, hot string // Fig. 11, longest in seconds
}

var models = []model{
	{
		scenario: "megatron177b", name: "Megatron-177B", gap400: "11.0", gap1600: "1.2", gap2048: "11.9", gap16384: "4.2",
		overBandwidths: "11.5 at 800", overTopo: "11.5 at 800", overSequences: "15.8 at 8192", donated: "11.0, 2.2", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "mixtral8x22b", name: "Mixtral-8x22B", gap400: "46.5", gap1600: "12.7", gap2048: "44.8", gap16384: "30.7",
		overBandwidths: "13.7 at 1600", overTopo: "10.6 at 1600", overSequences: "9.8 at 4096", donated: "46.5, 20.4", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "megatron462b", name: "Megatron-462B", gap400: "-", gap1600: "0", gap2048: "2.3", gap16384: "0",
		overBandwidths: "10.7 at 200", overTopo: "10.7 at 200", overSequences: "11.6 at 2048", portsTopo: "68.8", portsJoint: "60.9",
		timeTopo: "896", timeJoint: "928", hot: "358",
	},
	{
		scenario: "deepseek671b", name: "DeepSeek-671B", gap400: "24.3", gap1600: "0", gap2048: "25.6", gap16384: "0",
		overBandwidths: "17.5 at 800", overTopo: "10.7 at 1600", overSequences: "18.1 at 16384", donated: "24.3, 2.8", portsTopo: "below 80", portsJoint: "81.3",
		timeTopo: "2020", timeJoint: "1526", hot: "637",
	},
}

var (
	baselines = []string{"prop-alloc", "sqrt-alloc", "iter-halve"}
	searches  = []string{"delta-fast", "delta-topo", "delta-joint"}
)

// row is what a policy reached, document what several did in one scenario.
type row struct {
	Policy  string
	Metrics map[string]float64
}

type document struct {
	Reference map[string]float64
	Rows      []row
	times     map[string]float64 // seconds to decide
}

func (d *document) of(policy, metric string) float64 {
	for _, r := range d.Rows {
		if v, ok := r.Metrics[metric]; ok && r.Policy == policy {
			return v
		}
	}
	fail(fmt.Errorf("no %s of %s", metric, policy))
	return 0
}

// baseline returns the lowest NCT of the policies that see only the matrix.
func (d *document) baseline() float64 {
	v := d.of(baselines[0], "nct")
	for _, b := range baselines[1:] {
		v = min(v, d.of(b, "nct"))
	}
	return v
}

// series and play are the parts of a run's detail that are used here.
type series struct {
	Name  string
	TimeS []float64 `json:"time_s"`
	Value []float64
}

type play struct {
	Policy        string
	Demand, Rates []series
}

// study is the part of a sweep's document that is used here.
type study struct {
	Axes []struct {
		Name   string
		Labels []string
	}
	Cells []struct {
		At        []int
		Policy    string
		Key       string
		Reference map[string]float64
		Metrics   map[string]float64
	}
	times map[string]struct {
		SolveS float64 `json:"solve_s"`
	}
}

// runner runs sim, each study once.
type runner struct {
	sim, dir string
	done     map[string]*study
}

// study returns what a study of the paper's figures found.
func (r *runner) study(name string) *study {
	if s, ok := r.done[name]; ok {
		return s
	}
	fmt.Fprintln(os.Stderr, "sim sweep", name)
	dir := filepath.Join(r.dir, name)
	cmd := exec.Command(r.sim, "sweep", name, "--json", "--no-plots", "--out", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	fail(err)
	s := &study{}
	fail(json.Unmarshal(out, s))
	data, err := os.ReadFile(filepath.Join(dir, "timings.json"))
	fail(err)
	timings := struct{ Cells any }{&s.times}
	fail(json.Unmarshal(data, &timings))
	r.done[name] = s
	return s
}

// at returns the cells of a study at a place, labels by axis, as a document.
func (r *runner) at(name string, place ...string) *document {
	s := r.study(name)
	d := &document{times: map[string]float64{}}
cells:
	for _, c := range s.Cells {
		for a, v := range c.At {
			if s.Axes[a].Labels[v] != place[a] {
				continue cells
			}
		}
		d.Reference = c.Reference
		d.Rows = append(d.Rows, row{c.Policy, c.Metrics})
		d.times[c.Policy] = s.times[c.Key].SolveS
	}
	if len(d.Rows) == 0 {
		fail(fmt.Errorf("%s has no cells at %v", name, place))
	}
	return d
}

// detail returns the plays of a scenario as its run directory keeps them, that
// of the ideal fabric first.
func (r *runner) detail(scenario string) []play {
	dir := filepath.Join(r.dir, "detail-"+scenario)
	cmd := exec.Command(r.sim, "run", "scenarios/"+scenario+".toml", "--no-plots", "--out", dir)
	cmd.Stderr = os.Stderr
	_, err := cmd.Output()
	fail(err)
	data, err := os.ReadFile(filepath.Join(dir, "detail.json"))
	if err != nil {
		f, err := os.Open(filepath.Join(dir, "detail.json.gz"))
		fail(err)
		z, err := gzip.NewReader(f)
		fail(err)
		data, err = io.ReadAll(z)
		fail(err)
	}
	var d struct {
		Reference play
		Policies  []play
	}
	fail(json.Unmarshal(data, &d))
	return append([]play{d.Reference}, d.Policies...)
}

// setting is a study over one key beside the workload, and the values of it.
type setting struct {
	study, what string
	values      []int
	label       string // of a value, for fmt
}

var (
	bandwidths = setting{"delta-fig6", "Gb/s", []int{200, 400, 800, 1600}, "%dGbps"}
	sequences  = setting{"delta-fig8", "tokens", []int{2048, 4096, 8192, 16384}, "%d"}
)

// of returns a workload's cells at a value.
func (x setting) of(r *runner, m model, v int) *document {
	return r.at(x.study, m.scenario, fmt.Sprintf(x.label, v))
}

func percent(v float64) string { return fmt.Sprintf("%.1f", 100*v) }

// lines makes a Markdown table of its head, columns apart by " | ".
func lines(head string, rows []string) string {
	rule := strings.Repeat("|---", strings.Count(head, " | ")+1) + "|"
	return "| " + head + " |\n" + rule + "\n| " + strings.Join(rows, " |\n| ") + " |\n"
}

func workloads(r *runner) string {
	var rows []string
	for _, m := range models {
		f := bandwidths.of(r, m, 400).Reference
		rows = append(rows, fmt.Sprintf("%s | %.6f | %.6f | %.0f | %.0f", m.name, f["compute_makespan_s"], f["makespan_s"], f["tasks"], f["transfers"]))
	}
	return lines("model | C_compute, s | C_ideal, s | tasks of the complete DAG | of which between pods", rows)
}

func gaps(r *runner) string {
	var rows []string
	for _, m := range models {
		gap := func(d *document) string { return percent(d.of("delta-joint", "nct") - 1) }
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s | %s / %s", m.name,
			m.gap400, gap(bandwidths.of(r, m, 400)), m.gap1600, gap(bandwidths.of(r, m, 1600)),
			m.gap2048, gap(sequences.of(r, m, 2048)), m.gap16384, gap(sequences.of(r, m, 16384))))
	}
	return lines("paper / sim, % | 400 Gb/s, 4096 | 1600 Gb/s, 4096 | 400 Gb/s, 2048 | 400 Gb/s, 16384", rows)
}

// sweep prints the NCT of every policy over a setting.
func sweep(r *runner, x setting) string {
	all := append(append([]string{}, baselines...), searches...)
	var rows []string
	for _, m := range models {
		for _, v := range x.values {
			d := x.of(r, m, v)
			line := fmt.Sprintf("%s | %d", m.name, v)
			for _, p := range all {
				line += fmt.Sprintf(" | %.4f", d.of(p, "nct"))
			}
			rows = append(rows, line)
		}
	}
	return lines("model | "+x.what+" | "+strings.Join(all, " | "), rows)
}

// largest returns the largest reduction of delta-joint against what from says,
// and the setting where it is.
func largest(r *runner, m model, x setting, from func(*document) float64) string {
	best, at := -1.0, 0
	for _, v := range x.values {
		d := x.of(r, m, v)
		if c := 1 - d.of("delta-joint", "nct")/from(d); c > best {
			best, at = c, v
		}
	}
	return fmt.Sprintf("%s at %d", percent(best), at)
}

func reductions(r *runner) string {
	topo := func(d *document) float64 { return d.of("delta-topo", "nct") }
	var rows []string
	for _, m := range models {
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s", m.name,
			m.overBandwidths, largest(r, m, bandwidths, (*document).baseline),
			m.overTopo, largest(r, m, bandwidths, topo),
			m.overSequences, largest(r, m, sequences, (*document).baseline)))
	}
	return lines("paper / sim, % | best baseline, over Gb/s | delta-topo, over Gb/s | best baseline, over tokens", rows)
}

// proofs says over all settings how good the answers are.
func proofs(r *runner) string {
	var settings []*document
	for _, m := range models {
		for _, v := range bandwidths.values {
			settings = append(settings, bandwidths.of(r, m, v))
		}
		for _, v := range sequences.values {
			if v != 4096 { // the bandwidths have that one
				settings = append(settings, sequences.of(r, m, v))
			}
		}
	}
	var rows []string
	for _, p := range searches {
		gap, over, proved := 0.0, 0.0, 0
		for _, d := range settings {
			if d.of(p, "gap") <= 1e-6 {
				proved++
			}
			gap = max(gap, d.of(p, "gap"))
			over = max(over, d.of(p, "nct")/d.of("delta-topo", "nct")-1)
		}
		rows = append(rows, fmt.Sprintf("%s | %d of %d | %.2g | %.2g", p, proved, len(settings), 100*gap, 100*over))
	}
	return lines("policy | gap to bound at most 1e-6 | largest gap to bound, % | NCT above delta-topo's at most, %", rows)
}

// peaks reads the plateaus of a pod's demand off the ideal fabric.
func peaks(r *runner) string {
	const gbps = 1e9
	ideal := r.detail("gpt7b")[0]
	var rows []string
	for _, s := range ideal.Demand {
		most, synchronising := 0.0, 0.0
		first := 1e99 // start of the first gradient synchronisation
		for _, f := range ideal.Rates {
			first = min(first, f.TimeS[0])
		}
		for i, v := range s.Value {
			if s.TimeS[i] < first {
				most = max(most, v)
			}
			synchronising = max(synchronising, v)
		}
		rows = append(rows, fmt.Sprintf("%s | %.3g x 400 | %.3g x 400", s.Name, most/(400*gbps), synchronising/(400*gbps)))
	}
	return lines("sim, Gb/s | before synchronisation (paper 2 x 400) | peak (paper 4 x 400)", rows)
}

// rates reads the rates of stage 1's synchronisation off the plays.
func rates(r *runner) string {
	const gigabytes = 8e9
	var rows []string
	for _, p := range r.detail("megatron462b") {
		if p.Policy != "delta-joint" && p.Policy != "delta-topo" {
			continue
		}
		for _, s := range p.Rates {
			if s.Name != "stage 1" {
				continue
			}
			steps := make([]string, 0, len(s.Value))
			for i, v := range s.Value[:len(s.Value)-1] {
				steps = append(steps, fmt.Sprintf("%.4g for %.3f s", v/gigabytes, s.TimeS[i+1]-s.TimeS[i]))
			}
			paper := map[string]string{"delta-joint": "200 throughout", "delta-topo": "150 under contention"}[p.Policy]
			rows = append(rows, fmt.Sprintf("%s | %s | %s", p.Policy, paper, strings.Join(steps, ", then ")))
		}
	}
	return lines("GB/s | paper | sim", rows)
}

func ports(r *runner) string {
	var rows []string
	for _, m := range models {
		line := m.name
		for _, p := range []struct{ policy, paper string }{{"delta-topo", m.portsTopo}, {"delta-joint", m.portsJoint}} {
			line += " | " + p.paper
			for _, tolerance := range []string{"0", "0.001"} {
				d := r.at("delta-fig9", m.scenario, tolerance)
				line += " | " + percent(d.of(p.policy, "port_ratio"))
			}
		}
		rows = append(rows, line)
	}
	return lines("ports, % | delta-topo: paper | sim, 0 | sim, 0.001 | delta-joint: paper | sim, 0 | sim, 0.001", rows)
}

// donors prints Fig. 10: NCT above the ideal with the ports that another job
// gives back.
func donors(r *runner) string {
	places := []string{"none/0", "delta-topo/0", "delta-joint/0", "delta-topo/0.001", "delta-joint/0.001", "delta-topo/0.02", "delta-joint/0.02"}
	var rows []string
	for _, m := range models {
		if m.donated == "" {
			continue
		}
		for _, recipient := range []string{"best baseline", "delta-topo", "delta-joint"} {
			paper := "-"
			if recipient == "delta-joint" {
				paper = m.donated
			}
			line := fmt.Sprintf("%s, %s | %s", m.name, recipient, paper)
			for _, place := range places {
				d := r.at("delta-fig10", m.scenario, place)
				v := d.baseline()
				if recipient != "best baseline" {
					v = d.of(recipient, "nct")
				}
				line += " | " + percent(v-1)
			}
			rows = append(rows, line)
		}
	}
	return lines("NCT - 1, % | paper: before, after | before | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

// donations prints what the donors of Fig. 10 keep, and what it costs them.
func donations(r *runner) string {
	var rows []string
	for _, m := range models {
		if m.donated == "" {
			continue
		}
		line := m.name
		for _, place := range []string{"delta-topo/0", "delta-joint/0", "delta-topo/0.001", "delta-joint/0.001", "delta-topo/0.02", "delta-joint/0.02"} {
			d := r.at("delta-fig10", m.scenario, place)
			line += fmt.Sprintf(" | %s; %.4f", percent(d.of("delta-joint", "donor_port_ratio")), d.of("delta-joint", "donor_nct"))
		}
		rows = append(rows, line)
	}
	return lines("ports kept, %; NCT of the donor | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

func times(r *runner) string {
	var rows []string
	for _, m := range models {
		if m.hot == "" {
			continue
		}
		for _, n := range []int{64, 128, 256, 512} {
			d := r.at("delta-fig11", m.scenario, fmt.Sprint(n))
			line := fmt.Sprintf("%s | %d", m.name, n)
			for _, p := range searches {
				line += fmt.Sprintf(" | %.2f", d.times[p])
			}
			rows = append(rows, line)
		}
		rows = append(rows, fmt.Sprintf("%s, paper | longest | tens | %s | %s; %s with hot start", m.name, m.timeTopo, m.timeJoint, m.hot))
	}
	return lines("seconds | micro-batches | delta-fast | delta-topo | delta-joint", rows) +
		fmt.Sprintf("\nOn %s/%s with %d processors.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// tables are what is printed, by the name of their marks.
var tables = []struct {
	name string
	make func(*runner) string
}{
	{"workloads", workloads},
	{"gaps", gaps},
	{"bandwidths", func(r *runner) string { return sweep(r, bandwidths) }},
	{"sequences", func(r *runner) string { return sweep(r, sequences) }},
	{"reductions", reductions},
	{"proofs", proofs},
	{"peaks", peaks},
	{"rates", rates},
	{"ports", ports},
	{"donors", donors},
	{"donations", donations},
	{"times", times},
}

func main() {
	file := flag.String("w", "", "put the tables between the marks of `FILE`")
	flag.Parse()
	dir, err := os.MkdirTemp("", "sim-reproduction-")
	fail(err)
	cleanup = func() { os.RemoveAll(dir) }
	r := &runner{sim: filepath.Join(dir, "sim"), dir: dir, done: map[string]*study{}}
	build := exec.Command("go", "build", "-o", r.sim, ".")
	build.Stderr = os.Stderr
	fail(build.Run())
	var text []byte
	if *file != "" {
		text, err = os.ReadFile(*file)
		fail(err)
	}
	for _, t := range tables {
		if *file == "" {
			fmt.Printf("%s\n\n%s\n", t.name, t.make(r))
			continue
		}
		text, err = between(text, t.name, t.make(r))
		fail(err)
	}
	if *file != "" {
		fail(os.WriteFile(*file, text, 0o666))
	}
	cleanup()
}

// between replaces what stands between the marks of a table.
func between(text []byte, name, table string) ([]byte, error) {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end -->")
	before, rest, ok := bytes.Cut(text, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("no marks <!-- %s --> and <!-- end -->", name)
	}
	return bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil), nil
}

var cleanup = func() {}

func fail(err error) {
	if err == nil {
		return
	}
	cleanup()
	fmt.Fprintln(os.Stderr, "reproduction:", err)
	os.Exit(1)
}
