package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"sim/scenarios/result"
	"sim/workloads/trace"
)

// workFlags are the flags that ask for what is simulated, in formats of other tools.
var workFlags = []string{"goal-out", "chakra-out", "cm-out"}

// files returns the flags that ask for a file, with it: of several the first.
func (f *runFlags) files() (list []example) {
	for _, of := range []example{{"--trace", f.trace}, {"--plan-out", f.planOut}} {
		if of[1] != "" {
			list = append(list, of)
		}
	}
	for _, name := range workFlags {
		if path, ok := f.workOut[name]; ok {
			if name == "chakra-out" {
				path = chakraFile(path, 0)
			}
			list = append(list, example{"--" + name, path})
		}
	}
	return list
}

// chakraFile is the file of a rank.
func chakraFile(prefix string, rank int) string { return fmt.Sprintf("%s.%d.et", prefix, rank) }

// workFile is a file of what is simulated, of a rank or of all.
type workFile struct {
	flag string
	file *outFile
	fill func(io.Writer, *trace.RankGraph, *trace.Job) error
}

// newWorkFile returns the first file of a flag, which is open.
func newWorkFile(flag string, f *outFile) workFile {
	w := workFile{flag: flag, file: f}
	switch {
	case flag == "--cm-out":
		w.fill = func(to io.Writer, work *trace.RankGraph, _ *trace.Job) error { return work.WriteCM(to) }
	case flag == "--chakra-out":
		w.fill = func(to io.Writer, _ *trace.RankGraph, j *trace.Job) error { return j.WriteChakra(to, 0) }
	case filepath.Ext(f.path) == ".bin":
		w.fill = func(to io.Writer, _ *trace.RankGraph, j *trace.Job) error { return j.WriteBinaryGOAL(to) }
	default:
		w.fill = func(to io.Writer, _ *trace.RankGraph, j *trace.Job) error { return j.WriteGOAL(to) }
	}
	return w
}

// fillWork writes the work of a scenario to the files that are open, of which none is put in place yet. Those of
// further ranks follow when these are, as there may be more than can be open at once; that they are not too large is
// found out here.
func (o *outputs) fillWork(w *trace.RankGraph) error {
	for i := range o.works {
		f := &o.works[i]
		var j *trace.Job
		var err error
		switch f.flag {
		case "--cm-out":
		case "--chakra-out":
			j, err = w.Job()
		default:
			j, err = w.GOALJob()
		}
		if err == nil {
			err = f.file.fill(func(to io.Writer) error { return f.fill(to, w, j) })
		}
		if f.flag == "--chakra-out" && err == nil {
			o.ranks = j
			all := trace.LimitWriter(io.Discard)
			for rank := 0; rank < j.Ranks && err == nil; rank++ {
				err = j.WriteChakra(all, rank)
			}
		}
		var refused trace.UnwritableError
		if errors.As(err, &refused) {
			return usagef("%s: %v", f.flag, refused)
		}
		if err != nil {
			return fmt.Errorf("%s: cannot be written: %s", f.file.path, result.Reason(err))
		}
	}
	return nil
}

// commitWork puts the files in place.
func (o *outputs) commitWork() (failed failures) {
	for i := range o.works {
		f := &o.works[i]
		err := f.file.commit(nil)
		for rank := 1; f.flag == "--chakra-out" && rank < o.ranks.Ranks && err == nil; rank++ {
			var one *outFile
			if one, err = o.create(chakraFile(strings.TrimSuffix(f.file.path, ".0.et"), rank)); err == nil {
				err = one.write(func(to io.Writer) error { return o.ranks.WriteChakra(to, rank) })
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
