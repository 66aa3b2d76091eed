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

// fileFlags are the flags that ask for a file: the timelines, the plans, and what is simulated in formats of other tools.
var fileFlags = []string{"trace", "plan-out", "goal-out", "chakra-out", "cm-out"}

// outputFlags returns the flags that ask for a file, with it: of several the first.
func (f *runFlags) outputFlags() (list []example) {
	for _, name := range fileFlags {
		path := f.outputPaths[name]
		if path != "" && name == "chakra-out" {
			path = chakraFile(path, 0)
		}
		if path != "" {
			list = append(list, example{"--" + name, path})
		}
	}
	return list
}

// chakraFile is the file of a rank.
func chakraFile(prefix string, rank int) string { return fmt.Sprintf("%s.%d.et", prefix, rank) }

// workloadFile is a file of what is simulated, of the first rank or of all.
type workloadFile struct {
	flag string
	file *outputFile
}

// fillWorkloads writes the work of a scenario to the files that are open, of which none is put in place yet. Those of
// further ranks follow when these are, as there may be more than can be open at once; that they are not too large is
// found out here.
func (o *outputs) fillWorkloads(w *trace.Work) error {
	for _, f := range o.workloads {
		var j *trace.Job
		var err error
		fill := w.WriteCM
		switch f.flag {
		case "--chakra-out":
			j, err = w.Job()
			fill = func(to io.Writer) error { return j.WriteChakra(to, 0) }
		case "--goal-out":
			j, err = w.GOALJob()
			fill = func(to io.Writer) error { return j.WriteGOAL(to) }
			if filepath.Ext(f.file.path) == ".bin" {
				fill = func(to io.Writer) error { return j.WriteBinaryGOAL(to) }
			}
		}
		if err == nil {
			err = f.file.fill(fill)
		}
		if f.flag == "--chakra-out" && err == nil {
			o.rankTraces = j
			all := trace.Bounded(io.Discard)
			for rank := 0; rank < j.Ranks && err == nil; rank++ {
				err = j.WriteChakra(all, rank)
			}
		}
		var refused trace.Refused
		if errors.As(err, &refused) {
			return usagef("%s: %v", f.flag, refused)
		}
		if err != nil {
			return fmt.Errorf("%s: cannot be written: %s", f.file.path, result.Reason(err))
		}
	}
	return nil
}

// commitWorkloads puts the files in place.
func (o *outputs) commitWorkloads() (failed errorList) {
	for _, f := range o.workloads {
		err := f.file.commit(nil)
		for rank := 1; f.flag == "--chakra-out" && rank < o.rankTraces.Ranks && err == nil; rank++ {
			var one *outputFile
			if one, err = o.create(chakraFile(strings.TrimSuffix(f.file.path, ".0.et"), rank)); err == nil {
				err = one.write(func(to io.Writer) error { return o.rankTraces.WriteChakra(to, rank) })
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
