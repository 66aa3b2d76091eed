package trace

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// writtenFormat is a format that can be written and read.
type writtenFormat struct {
	name  string
	write func(w *RankGraph) ([]File, error)
}

// writtenFormats are the formats that represent any graph.
var writtenFormats = []writtenFormat{
	{"goal", func(w *RankGraph) ([]File, error) { return writeJob(w, (*Job).WriteGOAL) }},
	{"goal", func(w *RankGraph) ([]File, error) { return writeJob(w, (*Job).WriteBinaryGOAL) }},
	{"chakra", func(w *RankGraph) (files []File, err error) {
		j, err := w.Job()
		if err != nil {
			return nil, err
		}
		for rank := range j.Ranks {
			var b bytes.Buffer
			if err := j.WriteChakra(&b, rank); err != nil {
				return nil, err
			}
			files = append(files, File{fmt.Sprintf("w.%d.et", rank), b.Bytes()})
		}
		return files, nil
	}},
}

// writeJob writes the GOALJob of w.
func writeJob(w *RankGraph, write func(*Job, io.Writer) error) ([]File, error) {
	j, err := w.GOALJob()
	if err != nil {
		return nil, err
	}
	b := &bytes.Buffer{}
	err = write(j, b)
	return []File{{"w", b.Bytes()}}, err
}

// drawRankGraph draws a small graph whose tasks differ in time and size.
func drawRankGraph(t *rapid.T) *RankGraph {
	g, ranks := &engine.Graph{}, rapid.IntRange(2, 4).Draw(t, "ranks")
	w, turns := &RankGraph{Graph: g, Ranks: ranks}, rapid.Bool().Draw(t, "turns")
	rank := func(what string) int32 { return int32(rapid.IntRange(0, ranks-1).Draw(t, what)) }
	for i := range int32(rapid.IntRange(1, 14).Draw(t, "tasks")) {
		task, of := engine.Task{}, int32(-1)
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0: // a milestone
		case 1:
			task.Duration, of = engine.Time(7001*(i+1)), rank("rank")
		default:
			task = engine.Task{Kind: engine.Transfer, Src: rank("source"), Bytes: 1 + 30_000*int64(i), Flows: 1}
			if task.Dst = (task.Src + 1 + rank("distance")) % int32(ranks); task.Dst == task.Src {
				task.Dst = (task.Src + 1) % int32(ranks)
			}
		}
		g.AddTask(task)
		w.Rank = append(w.Rank, of)
		if turns {
			w.SendOrder = append(w.SendOrder, int32(rapid.IntRange(0, 3).Draw(t, "turn")))
		}
		for from := range i {
			if rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
				g.AddEdge(from, i, 0)
			}
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return w
}

// dependencies lists, for each task that takes time or moves data, the tasks of this kind
// on which it depends. Tasks are identified by their time or size.
func dependencies(g *engine.Graph) []string {
	what, before, all := make([]string, len(g.Tasks)), make([][]string, len(g.Tasks)), []string(nil)
	for _, id := range g.Order() {
		task := &g.Tasks[id]
		for _, e := range g.In(id) {
			if before[id] = append(before[id], before[e.From]...); what[e.From] != "" {
				before[id] = append(before[id], what[e.From])
			}
		}
		slices.Sort(before[id])
		before[id] = slices.Compact(before[id])
		switch {
		case task.Bytes > 0:
			what[id] = fmt.Sprintf("%d B from %d to %d", task.Bytes, task.Src, task.Dst)
		case task.Duration > 0:
			what[id] = fmt.Sprint(int64(task.Duration))
		default:
			continue
		}
		all = append(all, fmt.Sprint(what[id], " after ", before[id]))
	}
	slices.Sort(all)
	return all
}

// taskOrder lists the tasks that take time or move data in order, which is the order of
// their packets if several are ready at once. A send order is represented by the number
// of lower ones.
func taskOrder(g *engine.Graph, turn []int32) (all []string) {
	for i := range g.Tasks {
		t, before := &g.Tasks[i], 0
		if t.Bytes == 0 && t.Duration == 0 {
			continue
		}
		for k := range turn {
			if t.Kind == engine.Transfer && g.Tasks[k].Bytes > 0 && turn[k] < turn[i] {
				before++
			}
		}
		if t.Kind == engine.Compute {
			all = append(all, fmt.Sprint("compute ", t.Duration))
			continue
		}
		all = append(all, fmt.Sprint(t.Src, t.Dst, t.Bytes, before))
	}
	return all
}

// readBack detects the format, reads the files and builds the graph.
func readBack(format string, files []File) (*JobGraph, error) {
	if f := Detect(files[0]); f == nil || f.Name != format {
		return nil, fmt.Errorf("is detected as %v", f)
	}
	j, err := Read(ByName(format), files, &ReadOptions{})
	if err != nil {
		return nil, err
	}
	return j.Build(BuildOptions{})
}

// TestWritten checks that a written graph is read as the same graph.
func TestWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRankGraph(t)
		want := dependencies(w.Graph)
		if len(want) == 0 {
			return
		}
		for _, f := range writtenFormats {
			files, err := f.write(w)
			if err != nil {
				t.Fatal(f.name, err)
			}
			built, err := readBack(f.name, files)
			if err != nil {
				t.Fatalf("%s: %v in\n%.2000q", f.name, err, files)
			}
			if got := dependencies(built.Graph); !slices.Equal(got, want) {
				t.Fatalf("%s:\n%q\nwant\n%q\n%s", f.name, got, want, files[0].Data)
			}
			if got, want := taskOrder(built.Graph, built.SendOrder), taskOrder(w.Graph, w.SendOrder); !slices.Equal(got, want) {
				t.Fatalf("%s: tasks in the order\n%q\nwant\n%q\n%s", f.name, got, want, files[0].Data)
			}
		}
	})
}

// TestWrittenCM checks that a graph is either rejected by WriteCM or read as the same
// graph.
func TestWrittenCM(t *testing.T) {
	whole := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawRankGraph(t)
		for i := range w.Graph.Tasks {
			w.Graph.Tasks[i].Duration = 0
		}
		var b bytes.Buffer
		if w.WriteCM(&b) != nil {
			return
		}
		whole++
		built, err := readBack("cm", []File{{"w.cm", b.Bytes()}})
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.Bytes())
		}
		if got, want := dependencies(built.Graph), dependencies(w.Graph); !slices.Equal(got, want) {
			t.Fatalf("%q\nwant\n%q\n%s", got, want, b.Bytes())
		}
	})
	if whole < 10 {
		t.Errorf("%d matrices are written", whole)
	}
}
