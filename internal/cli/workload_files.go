// This file writes the simulated tasks of a run in the formats of other tools.

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

// fileFlags lists the flags that request one output file: timelines, plans, and the simulated
// tasks in formats of other tools.
var fileFlags = []string{"trace", "plan-out", "goal-out", "chakra-out", "cm-out"}

// outputFlag is a flag that requests an output file, with the path of that file.
type outputFlag struct{ name, path string }

// outputFlags returns the flags of fileFlags that are set, each with its file. For
// --chakra-out, which writes one file per rank, this is the file of rank 0.
func (f *runFlags) outputFlags() (list []outputFlag) {
	for _, name := range fileFlags {
		path := f.outputPaths[name]
		if path != "" && name == "chakra-out" {
			path = chakraFile(path, firstRank)
		}
		if path != "" {
			list = append(list, outputFlag{name: "--" + name, path: path})
		}
	}
	return list
}

// firstRank is the rank whose Chakra file stands for the files of all ranks until outputs are written.
const firstRank = 0

// chakraFile returns the name of the Chakra file of a rank.
func chakraFile(prefix string, rank int) string { return fmt.Sprintf("%s.%d.et", prefix, rank) }

// workloadFile is an output file with the simulated tasks. For --chakra-out it is the file of
// rank 0.
type workloadFile struct {
	// flag is the flag that requests the file, with dashes.
	flag string
	file *outputFile // open file
}

// fillWorkloads writes the simulated tasks w to the open files without committing them.
//
// The Chakra files of further ranks are written by commitWorkloads, because there may be more
// than can be open at the same time. Whether they exceed the size limit is checked here, before
// the run ends.
func (o *outputs) fillWorkloads(w *trace.RankGraph) error {
	for _, f := range o.workloads {
		var j *trace.Job
		var err error
		// Select the writer of the format.
		fill := w.WriteCM
		switch f.flag {
		case "--chakra-out":
			j, err = w.Job()
			fill = func(to io.Writer) error { return j.WriteChakra(to, firstRank) }
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
			// Write the files of all ranks once without storing them, to find out whether they
			// fit the limit.
			o.rankTraces = j
			all := trace.LimitWriter(io.Discard)
			for rank := 0; rank < j.Ranks && err == nil; rank++ {
				err = j.WriteChakra(all, rank)
			}
		}
		// Formats that cannot represent the tasks are errors of usage.
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

// commitWorkloads commits the files, and writes the Chakra files of the further ranks.
func (o *outputs) commitWorkloads() (failed errorList) {
	for _, f := range o.workloads {
		var filled error // fillWorkloads has written the content without an error
		err := f.file.commit(filled)
		for rank := 1; f.flag == "--chakra-out" && rank < o.rankTraces.Ranks && err == nil; rank++ {
			// Open each further file only while it is written.
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
