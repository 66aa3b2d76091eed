// This file checks fabric "torus", and traffic on all fabrics of links (checkLinks). It
// also reads matrices of traffic and other files whose names are relative to the
// scenario.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sim/fabric/links"
	"sim/fabric/torus"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// checkTorus checks the keys of a torus: its shape, its faults, its cubes and the workload
// on it.
func checkTorus(c *checker) {
	l := &c.s.Fabric.Links
	if !c.OK("fabric.dims", "fabric.cube", "fabric.twist", "fabric.shift", "fabric.open") {
		return
	}

	if l.Twist != "" && len(l.Shift) > 0 {
		c.conflictf("fabric.shift", "conflicts with fabric.twist; keep one of the two")
		return
	}

	// The twist and the faults must fit the shape.
	t, key, err := l.Shape()
	if err != nil {
		c.conflictf(key, "%s; see docs/tori.md", assembly.ErrorText(err))
		return
	}

	if !checkFlowCount(c, t.Nodes()) {
		return
	}

	if !c.OK("fabric.failed_ocs", "fabric.failed_links", "fabric.failed_machines", "fabric.failed_chips",
		"fabric.drained_links") {
		return
	}

	f, key, err := l.Faults()
	if err != nil {
		c.conflictf(key, "%s; see docs/tori.md", assembly.ErrorText(err))
		return
	}

	// Apply each kind of fault alone, so that the diagnostic names the key at fault.
	for _, part := range []struct {
		key    string
		faults torus.Faults
	}{
		{"fabric.failed_ocs", torus.Faults{Switches: f.Switches}},
		{"fabric.failed_links", torus.Faults{Links: f.Links}},
		{"fabric.failed_machines", torus.Faults{Machines: f.Machines}},
		{"fabric.failed_chips", torus.Faults{Chips: f.Chips}},
		{"fabric.drained_links", torus.Faults{Drained: f.Drained}},
	} {
		if _, err := t.Health(part.faults); err != nil {
			c.conflictf(part.key, "%s; name an existing part", assembly.ErrorText(err))
		}
	}

	// The cubes of a TPU have one shape.
	if p, ok := torus.FindPreset(l.Preset); ok && t.Cube != p.Cube {
		c.conflictf("fabric.cube fabric.preset", "cubes of %s, and %s has cubes of %s; leave one of the two out",
			t.Cube, p.Name, p.Cube)
	}

	// The torus must be made of cubes if it lies in a pod.
	hasCubeKeys := c.OK("fabric.preset", "fabric.pod_cubes", "fabric.cubes", "fabric.busy_cubes", "fabric.previous_configuration")
	if hasCubeKeys && len(c.Diagnostics) == 0 {
		if _, err := l.JoinCubes(t); err != nil {
			c.conflictf("fabric.preset fabric.pod_cubes fabric.cubes fabric.busy_cubes fabric.previous_configuration fabric.dims",
				"%s; see docs/tori.md", assembly.ErrorText(err))
		}
	}

	// Faults in mid-run affect links only.
	c.conflictIf(l.FailAt > 0 && (len(l.FailedChips) > 0 || len(l.FailedMachines) > 0),
		"fabric.failed_chips fabric.failed_machines",
		`chips that fail in mid-run end the job; let links or switches fail, or set fabric.failure_time = "0s"`)
	c.conflictIf(l.FailAt > 0 && !l.Faulty() && c.OK("fabric.failure_time"),
		"fabric.failure_time",
		"nothing fails then; name what fails, such as fabric.failed_ocs")
	checkLinks(c, t.Nodes(), t, f)
}

// checkFlowCount rejects more flows than fit into memory. It returns false if there are too
// many.
func checkFlowCount(c *checker, nodes int) bool {
	return !c.s.pathsView().CoversAllPairs() || !c.blame("fabric.dims fabric.gpus fabric.nodes fabric.edges fabric.file",
		assembly.Flow.Scale(float64(nodes)*float64(nodes)).CheckLimits("the flows between nodes", "fewer nodes"))
}

// checkLinks checks queues, workload and engine on a fabric of links with the given number
// of nodes. t is nil if the fabric is not a torus; f holds the faults of a torus.
//
// The checks that build the traffic come last, because they need valid keys. For an
// outermost tier they wait until the inner tiers are checked too.
func checkLinks(c *checker, nodes int, t *torus.Torus, f torus.Faults) {
	s := c.s
	if !c.OK("workload.kind") {
		return
	}

	if c.OK("fabric.queue") {
		if _, err := s.Fabric.QueueCapacity(s.Workload.Packet); err != nil {
			c.rejectf("fabric.queue",
				`%s; write "unbounded", "credit", packets such as "100p" or a size such as "64KB"`,
				err.Error())
		}
	}
	if !c.OK("workload", "engine", "workload.kind", "workload.source", "engine.level") {
		return
	}
	checkTransport(c)

	checkSource(c)
	if !checkCallDims(c, t) {
		return
	}
	if t != nil {
		checkDims(c, t)
	}

	// Options of routers and traffic.
	neighbourCap := s.Policy.Optimised.NeighbourCap
	if key := c.PathOf(&s.Policy.Optimised.NeighbourCap); neighbourCap == 0 && c.OK(key) && c.IsUsed(key) {
		c.conflictf(key, "0 messages between neighbours; write at least 1, or -1 for no limit")
	}
	checkOnOff(c)
	checkPacketSizes(c)
	if s.traffic().IsListed {
		senders := nodes
		if t == nil {
			senders = s.Fabric.Endpoints() // switches of a graph send nothing
		}
		checkMatrix(c, senders)
	}
	if h := s.pathsView().Workload.HotSpots(); h != nil && h.Nodes >= nodes {
		c.conflictf("workload.hot_nodes", "%d of %d nodes are hot; choose fewer", h.Nodes, nodes)
	}

	paths.CheckStep(c.Reader, s.pathsView())
	checkWork := func() {
		if len(c.Diagnostics) == 0 && s.isCall() {
			checkCall(c)
		}
		if len(c.Diagnostics) == 0 {
			paths.Check(c.Reader, s.pathsView(), c.isCell, nodes, t, f)
		}
	}
	if c.deferredCheck != nil {
		*c.deferredCheck = checkWork
		return
	}
	checkWork()
}

// checkSource checks workload.source, the process by which nodes send packets, against the
// kind of traffic and the level of the simulation.
func checkSource(c *checker) {
	s := c.s
	w, kind := &s.Workload.Traffic, s.traffic()

	// Level "flow" has messages only; open-loop sources send packets at rates.
	if s.Engine.Level == "flow" && !s.pathsView().HasMessageSizes() && !kind.IsListed {
		c.conflictf("engine.level workload.source",
			`level "flow" simulates messages, source %s has rates and times; set engine.level to "packet" or "static", or choose another source`,
			schema.Quote(w.Source))
	}

	onPackets := s.Engine.Level == "packet"
	hasTransport := s.Transport.IsUsed()
	if !s.isCall() && s.rankWork() == nil && !s.isTraining() {
		c.conflictIf(hasTransport != (w.Source == "transport"), "workload.source transport.kind",
			`a transport sends messages, and source %s injects packets; write a [transport] with source = "transport", or neither`, schema.Quote(w.Source))
	}
	c.conflictIf(onPackets && kind.DrawsDestinations && w.Source != "poisson", "workload.source",
		`destinations drawn for each packet need source "poisson"; set workload.source = "poisson", or workload.kind = "all-to-all"`)

	// An order of injection interleaves the messages of a node, which must have one size.
	sendsMessages := slices.Contains([]string{"greedy", "paced"}, w.Source)
	hasOrder := w.Injection != "" && w.Injection != "round-robin"
	c.conflictIf(onPackets && sendsMessages && hasOrder && kind.HasOwnSizes,
		"workload.injection workload.kind",
		"%s orders packets of messages of equal size, but messages of %s differ in size and are injected at once; leave it out, or choose other traffic",
		schema.Quote(w.Injection), s.Workload.Kind)

	c.conflictIf(kind.Alternates && w.Source != "on-off", "workload.source",
		`data-tensor traffic is on and off in turns; set workload.source = "on-off"`)
}

// checkCallDims checks the dimensions along which a collective call runs. It returns false
// if the fabric has no dimensions and the workload refers to some.
func checkCallDims(c *checker, t *torus.Torus) bool {
	s := c.s
	along := s.Workload.Call.Along
	followsLinks := s.Workload.Call.Joined == "links" // rings along the links of one dimension
	switch {
	case t == nil && s.usesDimensions():
		c.conflictf("workload.call_dims workload.kind workload.permutation",
			"refers to dimensions, but graphs and switches have none; choose other traffic, or a torus")
		return false
	case len(along) > 0 && len(s.Workload.Call.Group) > 0:
		c.conflictf("workload.call_dims workload.group", "conflicts with workload.group; keep one of the two")
	case followsLinks && c.OK("workload.call_dims") && len(along) != 1:
		c.conflictf("workload.grouping workload.call_dims",
			`"links" follows the links of one dimension, and workload.call_dims names %d; name one`,
			len(along))
	case followsLinks && len(along) == 1 && slices.Contains(s.Fabric.Open, along[0]):
		c.conflictf("workload.grouping workload.call_dims fabric.open",
			"the links along %s close into no rings, for it is open; choose another dimension, or set workload.grouping = \"coordinates\"",
			along[0])
	case s.isCall() && s.Fabric.FailAt > 0:
		c.conflictf("fabric.failure_time",
			"packets on failing links are lost and not sent again, so a collective call would wait for them forever; let links fail from the start, or choose other traffic")
	}
	return true
}

// checkDims checks that the torus has the dimensions that keys name, and that each
// dimension has one role.
func checkDims(c *checker, t *torus.Torus) {
	s := c.s
	tensor, data := s.Workload.TensorDims, s.Workload.DataDims
	if !s.traffic().Alternates {
		tensor, data = nil, nil // not used
	}

	type namedDims struct {
		key  string
		dims []string
	}
	isMissing := func(d string) bool { return links.DimIndex(d) >= len(t.Dims) }
	for _, k := range []namedDims{
		{"workload.call_dims", s.Workload.Call.Along},
		{"workload.tensor_dims", tensor},
		{"workload.data_dims", data},
		{"policy.order", s.Policy.Order},
		{c.PathOf(&s.Policy.WildFirst.Wild), s.Policy.WildFirst.Wild},
	} {
		if i := slices.IndexFunc(k.dims, isMissing); i >= 0 && c.OK(k.key) {
			c.conflictf(k.key, "%s has no dimension %s; name existing dimensions", t, k.dims[i])
		}
	}

	for _, d := range tensor {
		c.conflictIf(slices.Contains(data, d), "workload.data_dims workload.tensor_dims",
			"dimension %s serves tensor and data parallelism; let it serve one of them",
			d)
	}
	if n := len(s.Policy.Order); n > 0 && n != len(t.Dims) {
		c.conflictf("policy.order", "names %d of %d dimensions; name every dimension once", n, len(t.Dims))
	}
}

// checkOnOff checks that a source with on and off times sends at least one packet, and not
// more than it can. Other checks report invalid sizes and rates.
func checkOnOff(c *checker) {
	w := &c.s.Workload.Traffic
	isOnOff := w.Source == "on-off" && c.s.Engine.Level == "packet"
	hasSizes := w.Payload >= 1 && w.Packet >= w.Payload && w.Packet <= assembly.MaxPacketSize
	if !isOnOff || !hasSizes || w.Rate <= 0 {
		return
	}

	source := collective.OnOff{
		Rate:         w.Rate,
		PayloadBytes: int32(w.Payload),
		WireBytes:    int32(w.Packet),
		Start:        w.Start,
		Duration:     w.Duration,
	}
	key := "workload.duration"
	if c.s.traffic().Alternates {
		source.Duration, key = w.Phase, "workload.phase"
	}
	if err := source.Check(); err != nil && c.OK("workload.rate", key) {
		c.conflictf("workload.rate "+key+" workload.payload", "%s; choose a higher rate or more time",
			assembly.ErrorText(err))
	}
}

// checkPacketSizes checks the sizes of packets, their payload and messages. All bytes of a
// packet are payload in training steps and collective calls.
func checkPacketSizes(c *checker) {
	s := c.s
	w := &s.Workload.Traffic
	if s.isTraining() || s.hasCallsInGraph() || s.isCall() {
		w.Payload = w.Packet
	}

	if w.Payload < 1 || w.Packet < w.Payload {
		c.conflictf("workload.payload workload.packet",
			"packets of %v carry a payload of %v; write sizes of at least 1 B, and a payload that fits into the packet",
			w.Packet, w.Payload)
	} else if w.Packet > assembly.MaxPacketSize {
		c.conflictf("workload.packet", "packets of %v; write at most %d B", w.Packet,
			int64(assembly.MaxPacketSize))
	}

	view := s.pathsView()
	isEmpty := view.HasUniformSize() && view.Workload.Message < 1 && c.OK("workload.message")
	c.conflictIf(isEmpty, "workload.message", "is nothing to send; write at least 1 B")
}

// checkMatrix checks that the matrix of traffic has a row and a column per node.
func checkMatrix(c *checker, nodes int) {
	const key, sends = "workload.matrix", "workload.sparse_matrix"
	w := &c.s.Workload.TrafficMatrix
	m := w.Matrix
	if !c.OK(key, sends, "workload.matrix_file") {
		return
	}

	// Messages are listed one by one, or as a matrix.
	if len(w.Sends) > 0 {
		checkSends(c, nodes)
		return
	}

	if len(m) == 0 {
		c.conflictf(key,
			"is missing; write a row of bytes for each node, or name a file in workload.matrix_file")
		return
	}

	const alternative = "" // to writing all rows
	c.checkSquareRows("workload.matrix_file "+key, m, nodes, "node", alternative)
}

// checkSends checks the messages that workload.sparse_matrix lists. A row holds a source, followed
// by pairs of a destination and bytes.
func checkSends(c *checker, nodes int) {
	const keys = "workload.sparse_matrix workload.matrix_file"
	w := &c.s.Workload.TrafficMatrix
	if c.Given("workload.sparse_matrix") && len(w.Matrix) > 0 {
		c.conflictf("workload.sparse_matrix", "conflicts with workload.matrix; keep one of the two")
		return
	}

	// Check that the nodes exist, and that no node sends to itself.
	for i, row := range w.Sends {
		if len(row)%2 == 0 || len(row) < 3 {
			c.conflictf(keys,
				"row %d has %d numbers; write the node that sends and then pairs of a node and bytes",
				i+1, len(row))
			return
		}

		for k := 1; k+1 < len(row); k += 2 {
			switch src, dst, bytes := row[0], row[k], row[k+1]; {
			case src < 0 || src >= nodes || dst < 0 || dst >= nodes:
				c.conflictf(keys,
					"node %d sends to node %d, but there are only nodes 0 to %d; name existing nodes",
					src, dst, nodes-1)
				return
			case src == dst && bytes > 0:
				c.conflictf(keys, "node %d sends %d bytes to itself; leave them out", src, bytes)
				return
			}
		}
	}
}

// prepareTraffic reads the matrix of traffic from the file that workload.matrix_file names.
func prepareTraffic(c *checker) {
	const key, sizes = "workload.matrix_file", "workload.sizes"

	// On links and pods, the sizes of an all-to-all are uniform. applyMatrixAlias has
	// replaced listed sizes.
	if c.Given(sizes) && c.OK(sizes) && workloadForm(c.s).canBeCall {
		if v := schema.Child(c.Root, "workload")["sizes"]; v != "uniform" {
			c.rejectf(sizes,
				`is %s, which fabric %s does not simulate; write "uniform", "matrix" or the name of a CSV file`,
				schema.Describe(v), schema.Quote(c.s.Fabric.Kind))
		}
	}

	name, ok := schema.Child(c.Root, "workload")["matrix_file"].(string)
	if !ok || !c.s.traffic().IsListed {
		return
	}

	// The file replaces the keys that list messages.
	for _, other := range []string{"workload.matrix", "workload.sparse_matrix"} {
		if c.Given(other) {
			c.rejectf(key, "conflicts with %s; keep one of the two", other)
			return
		}
	}

	n, entries := c.readMatrix(key, name, matrixWords{
		quantity: trafficBytes,
		endpoint: "node",
		want:     "name a readable CSV file of up to " + strconv.Itoa(maxMatrixBytes>>20) + " MiB",
	})
	w := &c.s.Workload.TrafficMatrix

	// Store rows if they are short, else a list of messages, which is shorter if nearly all
	// elements are 0.
	if w.Matrix = denseRows(n, entries); n == 0 ||
		textBytes(w.Matrix) > schema.MaxFileBytes/2 {
		w.SetEntries(entries)
		c.MarkGiven("workload.sparse_matrix")
		if entries != nil && textBytes(w.Sends) > maxStoredMatrixBytes {
			c.rejectf(key,
				"%s lists %d messages, which are too many to be stored with results; write a list of at most %.1f MiB",
				name, len(entries), float64(maxStoredMatrixBytes)/(1<<20))
		}
	}
}

// Limits of matrices of traffic.
const (
	// maxMatrixBytes is the maximum size of a matrix file in bytes. It suffices for 4,096
	// endpoints that mostly send nothing.
	maxMatrixBytes = 64 << 20
	// maxStoredMatrixBytes limits the text of a matrix in the scenario that is stored with
	// results, in bytes. It is the maximum size of a scenario file, less 256 KiB for the
	// other keys.
	maxStoredMatrixBytes = schema.MaxFileBytes - 256<<10
	// maxDenseEndpoints is the maximum number of endpoints of a matrix that is stored with
	// its zeros. Larger matrices are stored as lists of entries.
	maxDenseEndpoints = 1024
)

// denseRows returns the entries as the rows of an n x n matrix, or nil if n is 0 or too
// large.
func denseRows(n int, entries []collective.Entry) [][]int {
	if n == 0 || n > maxDenseEndpoints {
		return nil
	}
	rows := make([][]int, n)
	for i := range rows {
		rows[i] = make([]int, n)
	}
	for _, e := range entries {
		rows[e.Src][e.Dst] = int(e.Bytes)
	}
	return rows
}

// textBytes returns the size of rows as text in bytes, or math.MaxInt if rows is nil.
func textBytes(rows [][]int) int {
	if rows == nil {
		return math.MaxInt
	}
	sum := 0
	for _, row := range rows {
		sum += len("[], ")
		for _, v := range row {
			sum += len(strconv.Itoa(v)) + len(", ")
		}
	}
	return sum
}

// matrixWords are the words of messages about a matrix file.
type matrixWords struct {
	quantity string // the values of the matrix: trafficBytes, or "sizes" of messages
	endpoint string // the owner of a row: "node" or "GPU"
	want     string // the file that the key should name
}

// trafficBytes is matrixWords.quantity of traffic between nodes.
const trafficBytes = "bytes"

// readMatrix reads the CSV file that the key at path names. The file has one row per
// endpoint or a list of entries. It returns the number of rows, or 0 for a list, and the
// nonzero entries; these are nil if the file is rejected.
func (c *checker) readMatrix(path, name string, words matrixWords) (n int, entries []collective.Entry) {
	quantity, endpoint := words.quantity, words.endpoint
	data, fileName, err := c.readRelativeLimited(path, name, maxMatrixBytes)
	if err != nil {
		c.rejectf(path, "%s; %s", err.Error(), words.want)
		return 0, nil
	}

	// A list of entries has a line from,to,bytes per message.
	if collective.IsEntryList(data) {
		if entries, err = collective.ReadEntries(data, fileName); err == nil && len(entries) == 0 {
			err = fmt.Errorf("%s lists nothing that is sent", fileName)
		}
		if err != nil {
			c.rejectLines(
				path, err,
				fmt.Sprintf(
					"write a line from,to,bytes for each %s that sends and each that it sends to",
					endpoint,
				),
			)
			return 0, nil
		}

		// Sort entries by source and destination, as in a matrix.
		slices.SortStableFunc(
			entries,
			func(a, b collective.Entry) int {
				return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
			},
		)
		return 0, entries
	}

	// Otherwise the file is a square matrix.
	if n = collective.CountRows(data); n < 2 {
		c.rejectf(path,
			"%s has rows of %d %ss; write a row of %s for each of two %ss or more, with commas between them",
			fileName, n, endpoint, quantity, endpoint)
		return 0, nil
	}

	sizes, err := collective.ReadSizes(bytes.NewReader(data), fileName, n)
	if err == nil && quantity == trafficBytes { // sizes of a scale-up domain are checked later
		var noneDown []bool // faults of nodes are checked later
		_, err = collective.FromSizes(fileName, n, sizes, noneDown)
	}
	if err != nil {
		c.rejectLines(
			path, err,
			fmt.Sprintf("write a row of %s for each %s, with commas between them", quantity, endpoint),
		)
		return 0, nil
	}
	return n, append([]collective.Entry{}, collective.Entries(n, sizes)...)
}

// rejectLines rejects the key at path once per line of an error.
func (c *checker) rejectLines(path string, err error, want string) {
	for line := range strings.Lines(err.Error()) {
		c.rejectf(path, "%s; %s", strings.TrimSpace(assembly.ErrorText(errors.New(line))), want)
	}
}

// readRelative reads a file that the key at path names, of at most schema.MaxFileBytes
// bytes. If a file of the scenario sets the key, the name is relative to the directory of
// that file. If an override sets it, the name is relative to the working directory.
func (c *checker) readRelative(path, name string) (data []byte, fileName string, err error) {
	return c.readRelativeLimited(path, name, schema.MaxFileBytes)
}

// readRelativeLimited is readRelative with a limit on the size of the file.
func (c *checker) readRelativeLimited(path, name string, maxBytes int) (data []byte, fileName string, err error) {
	if fileName = name; name == "" {
		return nil, "", errors.New("names no file")
	}

	// A name in a file is relative to the directory of the file.
	if file, _ := schema.FindLine(c.Layers, c.keyPathInFile(path)); !c.Overridden(path) &&
		!filepath.IsAbs(name) {
		fileName = filepath.Join(filepath.Dir(file), name)
	}
	c.inputFiles = append(c.inputFiles, fileName)

	// Shorten the errors of the operating system.
	if data, err = c.s.files.read(fileName, maxBytes); err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s is larger than %d MiB", fileName, maxBytes>>20)
	}
	if pe, ok := err.(*os.PathError); ok {
		err = fmt.Errorf("%s cannot be read: %w", fileName, pe.Err)
	}
	return data, fileName, err
}
