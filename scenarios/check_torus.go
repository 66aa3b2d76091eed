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

	"sim/fabric/torus"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/links"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

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
	t, key, err := l.Shape()
	if err != nil {
		c.Clash([]string{key}, assembly.FaultText(err), "see docs/tori.md")
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
	f, key, err := l.Faults()
	if err != nil {
		c.Clash([]string{key}, assembly.FaultText(err), "see docs/tori.md")
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
			c.Clash([]string{one.key}, assembly.FaultText(err), "name a part that there is")
		}
	}
	if c.OK("fabric.cubes", "fabric.busy_cubes", "fabric.configured") && len(c.Diagnostics) == 0 {
		if _, err := l.Join(t); err != nil {
			c.Clash([]string{"fabric.cubes", "fabric.busy_cubes", "fabric.configured", "fabric.dims"}, assembly.FaultText(err), "see docs/tori.md")
		}
	}
	if l.FailAt > 0 && (len(l.FailedChips) > 0 || len(l.FailedMachines) > 0) {
		c.Clash([]string{"fabric.failed_chips", "fabric.failed_machines"}, "chips that fail in mid-run end the job", "let links or switches fail, or set fabric.fail_at = \"0s\"")
	}
	if l.FailAt > 0 && !l.Faulty() && c.OK("fabric.fail_at") {
		c.Clash([]string{"fabric.fail_at"}, "nothing fails then", "name what fails, such as fabric.failed_ocs")
	}
	checkLinks(c, t.Nodes(), t, f)
}

// checkPairs refuses more flows than fit the memory.
func checkPairs(c *checker, nodes int) bool {
	need := float64(nodes) * float64(nodes) * paths.PerFlow
	if !c.s.links().ManyFlows() || need <= paths.MaxFlowBytes {
		return true
	}
	c.Clash([]string{"fabric.dims", "fabric.nodes", "fabric.edges", "fabric.file"}, fmt.Sprintf("%d flows between %d nodes would take %.0f GB", nodes*(nodes-1), nodes, need/1e9),
		fmt.Sprintf("choose fewer nodes; %.0f GB is the most", float64(paths.MaxFlowBytes)/1e9))
	return false
}

// checkLinks holds queues, workload and engine against a fabric of so many nodes; t is nil where it is no torus, of
// which f is down.
func checkLinks(c *checker, nodes int, t *torus.Torus, f torus.Faults) {
	s := c.s
	w := &s.Workload.Traffic
	if !c.OK("workload.kind") {
		return
	}
	if k := findKind("workload", s.Workload.Kind); k.on != "" {
		c.Clash([]string{"workload.kind"}, fmt.Sprintf("fabric %s does not simulate %s", schema.Quote(s.Fabric.Kind), schema.Quote(k.name)),
			fmt.Sprintf("set fabric.kind = %s, or workload.kind to traffic such as \"all-to-all\" or \"ring-all-reduce\"", schema.Quote(k.on)))
		return
	}
	if c.OK("fabric.queue") {
		if _, err := s.Fabric.Room(w.Packet); err != nil {
			c.Refuse("fabric.queue", err.Error(), `write "unbounded", "credit", packets such as "100p" or a size such as "64KB"`)
		}
	}
	if !c.OK("workload", "engine", "workload.kind", "workload.source", "engine.level") {
		return
	}
	if s.Engine.Level == "flow" && !s.links().Timed() && s.Workload.Kind != paths.MatrixTraffic {
		c.Clash([]string{"engine.level", "workload.source"}, "level \"flow\" simulates messages, source "+schema.Quote(w.Source)+" has rates and times",
			`set engine.level to "packet" or "static", or choose another source`)
	}
	if s.Engine.Level == "packet" && s.Workload.Kind == paths.UniformRandom && w.Source != "poisson" {
		c.Clash([]string{"workload.source"}, "destinations drawn for each packet need source \"poisson\"", `set workload.source = "poisson", or workload.kind = "all-to-all"`)
	}
	if s.Workload.Kind == paths.DataTensor && w.Source != "on-off" {
		c.Clash([]string{"workload.source"}, "data-tensor traffic is on and off in turns", `set workload.source = "on-off"`)
	}
	switch rings := slices.Contains(paths.RingKinds, s.Workload.Kind); {
	case t == nil && (rings || s.Workload.Kind == paths.DataTensor || s.Workload.Kind == paths.Permutation && w.Permutation != "random"):
		c.Clash([]string{"workload.kind", "workload.permutation"}, "asks for dimensions, and a graph has none", "choose other traffic, or a torus")
		return
	case rings && w.Rings == "per-dimension" && len(w.RingDims) != 1 && w.RingForm == "links" && s.Fabric.Twisted():
		c.Clash([]string{"workload.ring_form"}, "rings that follow twisted links join nodes that hold different parts of the vector", `set workload.ring_form = "line" or "folded", or workload.ring_dims to one dimension`)
	case rings && s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "ring collectives wait for what is lost", "let it fail from the start, or choose other traffic")
	}
	if t != nil {
		tensor, data := w.TensorDims, w.DataDims
		if s.Workload.Kind != paths.DataTensor {
			tensor, data = nil, nil
		}
		for _, k := range []struct {
			key  string
			dims []string
		}{{"workload.ring_dims", w.RingDims}, {"workload.tensor_dims", tensor}, {"workload.data_dims", data}, {"policy.order", s.Policy.Order}, {c.PathOf(&s.Policy.Wild), s.Policy.Wild}} {
			if i := slices.IndexFunc(k.dims, func(d string) bool { return links.DimIndex(d) >= len(t.Dims) }); i >= 0 && c.OK(k.key) {
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
	if at := c.PathOf(&s.Policy.Optimised.NeighbourCap); s.Policy.Optimised.NeighbourCap == 0 && c.OK(at) && c.Uses(at) {
		c.Clash([]string{at}, "0 messages between neighbours", "write at least 1, or -1 for no limit")
	}
	if w.Source == "on-off" && s.Engine.Level == "packet" && w.Payload >= 1 && w.Packet >= w.Payload && w.Packet <= assembly.LargestPacket && w.Rate > 0 {
		one := collective.OnOff{Rate: w.Rate, Payload: int32(w.Payload), Wire: int32(w.Packet), Start: w.Start, Length: w.Duration}
		key := "workload.duration"
		if s.Workload.Kind == paths.DataTensor {
			one.Length, key = w.Phase, "workload.phase"
		}
		if err := one.Check(); err != nil && c.OK("workload.rate", key) {
			c.Clash([]string{"workload.rate", key, "workload.payload"}, assembly.FaultText(err), "choose a higher rate or more time")
		}
	}
	if s.Workload.Kind == "training" {
		w.Payload = w.Packet // of which all counts
	}
	if w.Payload < 1 || w.Packet < w.Payload {
		c.Clash([]string{"workload.payload", "workload.packet"}, fmt.Sprintf("packets of %v carry %v", w.Packet, w.Payload), "write sizes of at least 1 B; payload is part of the packet")
	} else if w.Packet > assembly.LargestPacket {
		c.Clash([]string{"workload.packet"}, fmt.Sprintf("packets of %v", w.Packet), fmt.Sprintf("write at most %d B", int64(assembly.LargestPacket)))
	}
	if s.links().Sized() && w.Message < 1 && c.OK("workload.message") {
		c.Clash([]string{"workload.message"}, "is nothing to send", "write at least 1 B")
	}
	if s.Workload.Kind == paths.MatrixTraffic {
		checkMatrix(c, nodes)
	}
	if h := s.links().Workload.HotSpots(); h != nil && h.Nodes >= nodes {
		c.Clash([]string{"workload.hot_nodes"}, fmt.Sprintf("%d of %d nodes are hot", h.Nodes, nodes), "choose fewer")
	}
	paths.CheckStep(c.Reader, s.links())
	if len(c.Diagnostics) == 0 {
		paths.Check(c.Reader, s.links(), c.cell, nodes, t, f)
	}
}

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

// prepareTraffic reads the matrix from its file.
func prepareTraffic(c *checker) {
	const at, sizes = "workload.matrix_file", "workload.sizes"
	if c.Given(sizes) && c.OK(sizes) && c.s.Workload.Kind == paths.AllToAll {
		if v := schema.Child(c.Root, "workload")["sizes"]; v != "uniform" {
			c.Refuse(sizes, "is "+schema.Describe(v)+", which fabric "+schema.Quote(c.s.Fabric.Kind)+" does not simulate", `write "uniform", "matrix" or the name of a CSV file`)
		}
	}
	name, ok := schema.Child(c.Root, "workload")["matrix_file"].(string)
	if !ok || c.s.Workload.Kind != paths.MatrixTraffic {
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

// readMatrix reads the rows of a CSV file that the key at path names, of what for each of whom, and holds that they
// pass a check; nil where they do not. want says what to name where it cannot be read.
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
		c.Refuse(path, strings.TrimSpace(assembly.FaultText(errors.New(line))), want)
	}
}

// readBeside reads a file that the key at path names: beside the scenario's file where this names it, else from where
// the command runs.
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
