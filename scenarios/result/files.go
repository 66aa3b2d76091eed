// This file distinguishes the files that runs and sweeps write from other files in
// their directories.

package result

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// OptionalFiles are patterns of the files that only some runs have.
var OptionalFiles = []string{"links-*.csv", "circuits-*.csv", "queues-*.csv", "messages-*.csv", "crossconnects.csv", "jobs-*.csv", "events-*.csv"}

// isRunFile reports whether name is a name of a file that runs or sweeps write. name is
// relative to the directory, with slashes.
func isRunFile(name string) bool {
	switch name {
	case ManifestFile, ScenarioFile, ResultFile, TimingsFile, DetailFile, DetailGzip, CSVFile, BenchFile, PlotsDir,
		SweepFile, PlanFile, PlotsFile, unfinishedFile, replacedDir:
		return true
	}
	dir, base := path.Split(name)
	if dir == PlotsDir+"/" {
		return path.Ext(base) == ".png" || path.Ext(base) == ".svg"
	}
	return dir == "" && (IsJournal(base) || slices.ContainsFunc(OptionalFiles, func(pattern string) bool {
		ok, _ := path.Match(pattern, base) // the patterns are well formed
		return ok
	}))
}

// IsJournal reports whether name is a journal of cells in a sweep's directory.
func IsJournal(name string) bool {
	return strings.HasPrefix(name, "cells") && strings.HasSuffix(name, ".jsonl")
}

// OwningDir returns the directory of the run or sweep that writes the file at this path. It
// returns "" if no run or sweep writes it.
func OwningDir(file string) string {
	dir, name := filepath.Dir(file), filepath.Base(file)

	// Figures are one level below the directory of their run.
	if filepath.Base(dir) == PlotsDir && !IsResult(dir) {
		dir, name = filepath.Dir(dir), path.Join(PlotsDir, name)
	}
	if isRunFile(name) && IsResult(dir) {
		return dir
	}
	return ""
}

// writtenFiles returns a predicate for the files that the run in dir wrote. Manifests of
// older versions have no file list; then all names of run files count.
func writtenFiles(dir string) func(name string) bool {
	var m Manifest
	if load(dir, ManifestFile, &m) != nil || m.Files == nil {
		return isRunFile
	}
	return func(name string) bool { return slices.Contains(m.Files, name) }
}

// preserveForeignFiles moves the files that no run wrote from a replaced run's directory
// into the new one. Names that the new run uses stay behind.
func preserveForeignFiles(from, to string) error {
	return moveForeignFiles(from, to, ".", writtenFiles(from))
}

// moveForeignFiles is preserveForeignFiles for the subdirectory at. isOwn reports whether
// the replaced run wrote a file.
func moveForeignFiles(from, to, at string, isOwn func(string) bool) error {
	entries, err := os.ReadDir(filepath.Join(from, at))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())

		// The replaced run's own files, its manifest and its marker are not moved.
		if isOwn(name) && !e.IsDir() || name == ManifestFile || name == unfinishedFile {
			continue
		}
		old, place := filepath.Join(from, name), filepath.Join(to, name)
		_, err := os.Lstat(place)

		// A directory that exists in both runs is merged, entry by entry. The figures' directory
		// is always visited, because it contains files of the replaced run.
		switch taken := !errors.Is(err, fs.ErrNotExist); {
		case e.IsDir() && (taken || name == PlotsDir):
			if err := os.MkdirAll(place, 0o777); err != nil {
				return err
			}
			if err := moveForeignFiles(from, to, name, isOwn); err != nil {
				return err
			}
			os.Remove(place) // fails if it is not empty
		case !taken:
			if err := os.Rename(old, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// listFiles lists the files below dir, sorted, with slashes as separators.
func listFiles(dir string) ([]string, error) {
	list := []string{}
	err := filepath.WalkDir(dir, func(place string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == unfinishedFile {
			return err
		}
		name, err := filepath.Rel(dir, place)
		list = append(list, filepath.ToSlash(name))
		return err
	})
	return list, err
}
