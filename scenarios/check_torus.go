package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
	"sim/fabric/torus"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// maxFlowBytes bounds what the flows of a scenario take in memory, perFlow what
// one takes: its ends, its class, and what is kept of it while it is played.
const (
	maxFlowBytes = 4 << 30
	perFlow      = 48
)

// torus returns the torus of the scenario with the key that is at fault.
func (l *Links) torus() (t *torus.Torus, key string, err error) {
	if t, err = torus.New(l.Dims...); err != nil {
		return nil, "fabric.dims", err
	}
	for _, name := range l.Open {
		d := 0
		for d < len(l.Dims) && torus.DimName(d) != name {
			d++
		}
		if d == len(l.Dims) {
			return nil, "fabric.open", fmt.Errorf("%s has no dimension %s", t, name)
		}
		if err = t.Mesh(d); err != nil {
			return nil, "fabric.open", err
		}
	}
	if l.Twist != "" {
		if err = t.Twist(l.Twist); err != nil {
			return nil, "fabric.twist", err
		}
	}
	if len(l.Shift) > 0 {
		if err = t.SetShift(l.Shift); err != nil {
			return nil, "fabric.shift", err
		}
	}
	return t, "", nil
}

// twisted reports whether wrap-around links land shifted.
func (l *Links) twisted() bool {
	t, _, err := l.torus()
	return err == nil && t.Shift != nil
}

// cubic reports whether the torus is made of cubes that optical switches join.
func (l *Links) cubic() bool {
	t, _, err := l.torus()
	return err == nil && torus.Cubic(t) == nil
}

// faultsOf returns what is down, with the key that is at fault.
func (l *Links) faultsOf() (f torus.Faults, key string, err error) {
	for _, name := range l.FailedOCS {
		s, err := torus.ParseSwitch(name)
		if err != nil {
			return f, "fabric.failed_ocs", err
		}
		f.Switches = append(f.Switches, s)
	}
	for _, of := range []struct {
		key   string
		names []string
		to    *[]torus.Hop
	}{{"fabric.failed_links", l.FailedLinks, &f.Links}, {"fabric.drained_links", l.DrainedLinks, &f.Drained}} {
		for _, name := range of.names {
			h, err := torus.ParseHop(name)
			if err != nil {
				return f, of.key, err
			}
			*of.to = append(*of.to, h)
		}
	}
	f.Machines = l.FailedMachines
	for _, c := range l.FailedChips {
		f.Chips = append(f.Chips, int32(c))
	}
	return f, "", nil
}

// faulty reports whether anything is down or drained.
func (l *Links) faulty() bool {
	return len(l.FailedOCS)+len(l.FailedLinks)+len(l.FailedMachines)+len(l.FailedChips)+len(l.DrainedLinks) > 0
}

// checkTorus holds the keys of a torus against each other and the workload.
func checkTorus(c *checker) {
	l := &c.s.Fabric.Links
	if !c.OK("fabric.dims", "fabric.twist", "fabric.shift", "fabric.open") {
		return
	}
	if l.Twist != "" && len(l.Shift) > 0 {
		c.Clash([]string{"fabric.shift"}, "stands beside fabric.twist", "keep one of the two")
		return
	}
	t, key, err := l.torus()
	if err != nil {
		c.Clash([]string{key}, faultText(err), "see docs/tori.md")
		return
	}
	if !checkPairs(c, t.Nodes()) {
		return
	}
	for _, key := range []string{"failed_ocs", "failed_links", "failed_machines", "failed_chips", "drained_links"} {
		if !c.OK("fabric." + key) {
			return
		}
	}
	f, key, err := l.faultsOf()
	if err != nil {
		c.Clash([]string{key}, faultText(err), "see docs/tori.md")
		return
	}
	for _, one := range []struct {
		key string
		f   torus.Faults
	}{
		{"fabric.failed_ocs", torus.Faults{Switches: f.Switches}}, {"fabric.failed_links", torus.Faults{Links: f.Links}},
		{"fabric.failed_machines", torus.Faults{Machines: f.Machines}}, {"fabric.failed_chips", torus.Faults{Chips: f.Chips}},
		{"fabric.drained_links", torus.Faults{Drained: f.Drained}},
	} {
		if _, err := t.Health(one.f); err != nil {
			c.Clash([]string{one.key}, faultText(err), "name a part that there is")
		}
	}
	if c.OK("fabric.cubes", "fabric.busy_cubes", "fabric.configured") && len(c.Diagnostics) == 0 {
		if _, err := l.join(t); err != nil {
			c.Clash([]string{"fabric.cubes", "fabric.busy_cubes", "fabric.configured", "fabric.dims"}, faultText(err), "see docs/tori.md")
		}
	}
	if l.FailAt > 0 && (len(l.FailedChips) > 0 || len(l.FailedMachines) > 0) {
		c.Clash([]string{"fabric.failed_chips", "fabric.failed_machines"}, "chips that fail in mid-run end the job", "let links or switches fail, or set fabric.fail_at = \"0s\"")
	}
	if l.FailAt > 0 && !l.faulty() && c.OK("fabric.fail_at") {
		c.Clash([]string{"fabric.fail_at"}, "nothing fails then", "name what fails, such as fabric.failed_ocs")
	}
	checkLinks(c, t.Nodes(), t, f)
}

// checkPairs refuses more flows than fit the memory.
func checkPairs(c *checker, nodes int) bool {
	need := float64(nodes) * float64(nodes) * perFlow
	if !c.s.manyFlows() || need <= maxFlowBytes {
		return true
	}
	c.Clash([]string{"fabric.dims", "fabric.nodes", "fabric.edges", "fabric.file"}, fmt.Sprintf("%d flows between %d nodes would take %.0f GB", nodes*(nodes-1), nodes, need/1e9),
		fmt.Sprintf("choose fewer nodes; %.0f GB is the most", float64(maxFlowBytes)/1e9))
	return false
}

// faultText words an error for a fault: without the name of its package.
func faultText(err error) string {
	text := err.Error()
	for _, prefix := range []string{"torus: no such shape: ", "torus: no such part: ", "torus: ", "graph: this is no list of links: ", "graph: ", "collective: no such traffic: ", "collective: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// checkLinks holds queues, workload and engine against a fabric of so many nodes;
// t is nil where it is no torus, of which f is down.
func checkLinks(c *checker, nodes int, t *torus.Torus, f torus.Faults) {
	s := c.s
	w := &s.Workload.Traffic
	if !c.OK("workload.kind") {
		return
	}
	if k := findKind("workload", s.Workload.Kind); k.on != "" {
		c.Clash([]string{"workload.kind"}, fmt.Sprintf("fabric %s does not play %s", schema.Quote(s.Fabric.Kind), schema.Quote(k.name)),
			fmt.Sprintf("set fabric.kind = %s, or workload.kind to traffic such as \"all-to-all\" or \"ring-all-reduce\"", schema.Quote(k.on)))
		return
	}
	if c.OK("fabric.queue") {
		if _, err := s.Fabric.queue(w.Packet); err != nil {
			c.Refuse("fabric.queue", err.Error(), `write "unbounded", "credit", packets such as "100p" or a size such as "64KB"`)
		}
	}
	if !c.OK("workload", "engine", "workload.kind", "workload.source", "engine.level") {
		return
	}
	if s.Engine.Level == "flow" && !s.timed() && s.Workload.Kind != matrixTraffic {
		c.Clash([]string{"engine.level", "workload.source"}, "level \"flow\" plays messages, source "+schema.Quote(w.Source)+" has rates and times",
			`set engine.level to "packet" or "static", or choose another source`)
	}
	if s.Engine.Level == "packet" && s.Workload.Kind == uniformRandom && w.Source != "poisson" {
		c.Clash([]string{"workload.source"}, "destinations drawn for each packet need source \"poisson\"", `set workload.source = "poisson", or workload.kind = "all-to-all"`)
	}
	if s.Workload.Kind == dataTensor && w.Source != "on-off" {
		c.Clash([]string{"workload.source"}, "data-tensor traffic is on and off in turns", `set workload.source = "on-off"`)
	}
	switch rings := slices.Contains(ringKinds, s.Workload.Kind); {
	case t == nil && (rings || s.Workload.Kind == dataTensor || s.Workload.Kind == permutation && w.Permutation != "random"):
		c.Clash([]string{"workload.kind", "workload.permutation"}, "asks for dimensions, and a graph has none", "choose other traffic, or a torus")
		return
	case rings && w.Rings == "per-dimension" && len(w.RingDims) != 1 && w.RingForm == "links" && s.Fabric.twisted():
		c.Clash([]string{"workload.ring_form"}, "rings that follow twisted links join nodes that hold different parts of the vector", `set workload.ring_form = "line" or "folded", or workload.ring_dims to one dimension`)
	case rings && s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "ring collectives wait for what is lost", "let it fail from the start, or choose other traffic")
	}
	if t != nil {
		tensor, data := w.TensorDims, w.DataDims
		if s.Workload.Kind != dataTensor {
			tensor, data = nil, nil
		}
		for _, k := range []struct {
			key  string
			dims []string
		}{{"workload.ring_dims", w.RingDims}, {"workload.tensor_dims", tensor}, {"workload.data_dims", data}, {"policy.order", s.Policy.Order}, {"policy.wild-first.wild", s.Policy.Wild}} {
			if i := slices.IndexFunc(k.dims, func(d string) bool { return dimIndex(d) >= len(t.Dims) }); i >= 0 && c.OK(k.key) {
				c.Clash([]string{k.key}, fmt.Sprintf("%s has no dimension %s", t, k.dims[i]), "name dimensions that there are")
			}
		}
		for _, d := range tensor {
			if slices.Contains(data, d) {
				c.Clash([]string{"workload.data_dims", "workload.tensor_dims"}, "dimension "+d+" serves tensor and data parallelism", "let it serve one of them")
			}
		}
		if n := len(s.Policy.Order); n > 0 && n != len(t.Dims) {
			c.Clash([]string{"policy.order"}, fmt.Sprintf("%d dimensions of %d", n, len(t.Dims)), "name every dimension once")
		}
	}
	if s.Policy.Optimised.NeighbourCap == 0 && c.OK("policy.route-optimised", "policy.route-optimised.neighbour_cap") && slices.Contains(s.Policy.Routers, "route-optimised") {
		c.Clash([]string{"policy.route-optimised.neighbour_cap"}, "0 messages between neighbours", "write at least 1, or -1 for no limit")
	}
	if w.Source == "on-off" && s.Engine.Level == "packet" && w.Payload >= 1 && w.Packet >= w.Payload && w.Packet <= largestPacket && w.Rate > 0 {
		one := collective.OnOff{Rate: w.Rate, Payload: int32(w.Payload), Wire: int32(w.Packet), Start: w.Start, Length: w.Duration}
		key := "workload.duration"
		if s.Workload.Kind == dataTensor {
			one.Length, key = w.Phase, "workload.phase"
		}
		if err := one.Check(); err != nil && c.OK("workload.rate", key) {
			c.Clash([]string{"workload.rate", key, "workload.payload"}, faultText(err), "choose a higher rate or more time")
		}
	}
	if s.Workload.Kind == "training" {
		w.Payload = w.Packet // of which all counts
	}
	if w.Payload < 1 || w.Packet < w.Payload {
		c.Clash([]string{"workload.payload", "workload.packet"}, fmt.Sprintf("packets of %v carry %v", w.Packet, w.Payload), "write sizes of at least 1 B; payload is part of the packet")
	} else if w.Packet > largestPacket {
		c.Clash([]string{"workload.packet"}, fmt.Sprintf("packets of %v", w.Packet), fmt.Sprintf("write at most %d B", int64(largestPacket)))
	}
	if s.sized() && w.Message < 1 && c.OK("workload.message") {
		c.Clash([]string{"workload.message"}, "is nothing to send", "write at least 1 B")
	}
	if s.Workload.Kind == matrixTraffic {
		checkMatrix(c, nodes)
	}
	if h := s.Workload.hotSpots(); h != nil && h.Nodes >= nodes {
		c.Clash([]string{"workload.hot_nodes"}, fmt.Sprintf("%d of %d nodes are hot", h.Nodes, nodes), "choose fewer")
	}
	checkStep(c)
	if len(c.Diagnostics) == 0 {
		checkTraffic(c, nodes, t, f)
	}
}

// manyFlows reports whether every pair of nodes is a flow.
func (s *Scenario) manyFlows() bool {
	return slices.Contains([]string{allToAll, uniformRandom, hotspot}, s.Workload.Kind)
}

// dimIndex returns the number of a dimension x, y or z.
func dimIndex(name string) int { return strings.Index("xyz", name) }

// checkMatrix holds that the matrix is square and of the fabric's nodes.
func checkMatrix(c *checker, nodes int) {
	const at = "workload.matrix"
	m := c.s.Workload.Matrix
	if !c.OK(at, "workload.matrix_file") {
		return
	}
	if len(m) == 0 {
		c.Clash([]string{at}, "is missing", "write a row of bytes for each node, or name a file in workload.matrix_file")
		return
	}
	for i, row := range m {
		if len(row) != len(m) {
			c.Clash([]string{"workload.matrix_file", at}, fmt.Sprintf("row %d has %d numbers, and there are %d rows", i+1, len(row), len(m)), "a matrix is square")
			return
		}
		for j, v := range row {
			if i == j && v > 0 {
				c.Clash([]string{"workload.matrix_file", at}, fmt.Sprintf("node %d sends %d bytes to itself", i, v), "write 0 there")
				return
			}
			if v < 0 {
				c.Clash([]string{"workload.matrix_file", at}, fmt.Sprintf("node %d sends %d bytes to node %d", i, v, j), "write no negative sizes")
				return
			}
		}
	}
	if len(m) != nodes {
		c.Clash([]string{"workload.matrix_file", at}, fmt.Sprintf("%d rows for %d nodes", len(m), nodes), "write a row for each node")
	}
}

// queue returns the buffer of a queue in bytes, 0 of one without bound, or with
// credits.
func (l *Links) queue(packet units.Bytes) (units.Bytes, error) {
	if l.Queue == "unbounded" || l.Queue == "credit" {
		return 0, nil
	}
	if count, ok := strings.CutSuffix(l.Queue, "p"); ok {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%s is no number of packets", schema.Quote(l.Queue))
		}
		return units.Bytes(n) * packet, nil
	}
	b, err := units.ParseBytes(l.Queue)
	if err != nil || b < packet {
		return 0, fmt.Errorf("%s is no queue that a packet of %v fits", schema.Quote(l.Queue), packet)
	}
	return b, nil
}

// prepareTraffic reads the matrix from its file.
func prepareTraffic(c *checker) {
	const at, sizes = "workload.matrix_file", "workload.sizes"
	if c.Given(sizes) && c.OK(sizes) && c.s.Workload.Kind == allToAll {
		if v := schema.Child(c.Root, "workload")["sizes"]; v != "uniform" {
			c.Refuse(sizes, "is "+schema.Describe(v)+", which fabric "+schema.Quote(c.s.Fabric.Kind)+" does not play", `write "uniform", "matrix" or the name of a CSV file`)
		}
	}
	name, ok := schema.Child(c.Root, "workload")["matrix_file"].(string)
	if !ok || c.s.Workload.Kind != matrixTraffic {
		return
	}
	if c.Given("workload.matrix") {
		c.Refuse(at, "stands beside workload.matrix", "keep one of the two")
		return
	}
	c.s.Workload.Matrix = c.readMatrix(at, name, "name a readable CSV file of up to "+strconv.Itoa(schema.MaxFileBytes>>20)+" MiB", "bytes", "node",
		func(place string, n int, entries []int64) error {
			_, err := collective.OfSizes(place, n, entries, nil)
			return err
		})
}

// readMatrix reads the rows of a CSV file that the key at path names, of what for each of whom, and holds that they pass a check; nil
// where they do not. want says what to name where it cannot be read.
func (c *checker) readMatrix(path, name, want, what, whom string, check func(place string, n int, entries []int64) error) [][]int {
	data, place, err := c.readBeside(path, name)
	if err != nil {
		c.Refuse(path, err.Error(), want)
		return nil
	}
	n := collective.CountRows(data)
	if n < 2 {
		c.Refuse(path, fmt.Sprintf("%s has rows of %d %ss", place, n, whom), fmt.Sprintf("write a row of %s for each of two %ss or more, with commas between them", what, whom))
		return nil
	}
	entries, err := collective.ReadSizes(bytes.NewReader(data), place, n)
	if err == nil {
		err = check(place, n, entries)
	}
	if err != nil {
		c.refuseLines(path, err, fmt.Sprintf("write a row of %s for each %s, with commas between them", what, whom))
		return nil
	}
	rows := make([][]int, n)
	for i, b := range entries {
		rows[i/n] = append(rows[i/n], int(b))
	}
	if len(data) > schema.MaxFileBytes/2 {
		c.Refuse(path, fmt.Sprintf("%s is too large to be kept with results", place), fmt.Sprintf("write at most %d MiB", schema.MaxFileBytes>>21))
	}
	return rows
}

// refuseLines refuses the key at path for each line of an error.
func (c *checker) refuseLines(path string, err error, want string) {
	for line := range strings.Lines(err.Error()) {
		c.Refuse(path, strings.TrimSpace(faultText(errors.New(line))), want)
	}
}

// readBeside reads a file that the key at path names: beside the scenario's file
// where this names it, else from where the command runs.
func (c *checker) readBeside(path, name string) (data []byte, place string, err error) {
	if place = name; name == "" {
		return nil, "", errors.New("names no file")
	}
	if file, _ := schema.Find(c.Layers, c.stands(path)); !c.Overridden(path) && !filepath.IsAbs(name) {
		place = filepath.Join(filepath.Dir(file), name)
	}
	c.inputs = append(c.inputs, place)
	data, err = readSome(place)
	if err == nil && len(data) > schema.MaxFileBytes {
		err = fmt.Errorf("%s is larger than %d MiB", place, schema.MaxFileBytes>>20)
	}
	if pe, ok := err.(*os.PathError); ok {
		err = fmt.Errorf("%s cannot be read: %w", place, pe.Err)
	}
	return data, place, err
}
