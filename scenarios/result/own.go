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

// OtherFiles are the names, as patterns, of the files that only some runs have.
var OtherFiles = []string{"links-*.csv", "circuits-*.csv", "queues-*.csv", "crossconnects.csv", "jobs-*.csv", "events-*.csv"}

// ownName reports whether a run or a sweep may keep a file of that name, slashes between, in its directory.
func ownName(name string) bool {
	switch name {
	case ManifestFile, ScenarioFile, ResultFile, TimingsFile, DetailFile, DetailGzip, CSVFile, BenchFile, PlotsDir,
		SweepFile, PlanFile, PlotsFile, unfinished, replaced:
		return true
	}
	dir, base := path.Split(name)
	if dir == PlotsDir+"/" {
		return path.Ext(base) == ".png" || path.Ext(base) == ".svg"
	}
	return dir == "" && (IsJournal(base) || slices.ContainsFunc(OtherFiles, func(pattern string) bool {
		ok, _ := path.Match(pattern, base) // the patterns are well formed
		return ok
	}))
}

// IsJournal reports whether a file of that name in a sweep's directory is a journal of its cells.
func IsJournal(name string) bool {
	return strings.HasPrefix(name, "cells") && strings.HasSuffix(name, ".jsonl")
}

// Keeper returns the directory of the run or sweep that keeps a file of its own at path, "" where none does.
func Keeper(file string) string {
	dir, name := filepath.Dir(file), filepath.Base(file)
	if filepath.Base(dir) == PlotsDir && !IsResult(dir) {
		dir, name = filepath.Dir(dir), path.Join(PlotsDir, name)
	}
	if ownName(name) && IsResult(dir) {
		return dir
	}
	return ""
}

// wrote returns the files that the run in dir wrote: those that its manifest lists, and of a run that lists none all
// that have the names of a run's.
func wrote(dir string) func(name string) bool {
	var m Manifest
	if load(dir, ManifestFile, &m) != nil || m.Files == nil {
		return ownName
	}
	return func(name string) bool { return slices.Contains(m.Files, name) }
}

// keepOthers moves from an older run's directory into a newer one's what no run wrote, but for names that the newer run
// has taken.
func keepOthers(from, to string) error { return moveOthers(from, to, ".", wrote(from)) }

func moveOthers(from, to, at string, own func(string) bool) error {
	entries, err := os.ReadDir(filepath.Join(from, at))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		if own(name) && !e.IsDir() || name == ManifestFile || name == unfinished {
			continue
		}
		old, place := filepath.Join(from, name), filepath.Join(to, name)
		_, err := os.Lstat(place)
		switch taken := !errors.Is(err, fs.ErrNotExist); {
		case e.IsDir() && (taken || name == PlotsDir):
			if err := os.MkdirAll(place, 0o777); err != nil {
				return err
			}
			if err := moveOthers(from, to, name, own); err != nil {
				return err
			}
			os.Remove(place) // unless something is in it
		case !taken:
			if err := os.Rename(old, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// files lists the files below dir, with slashes between, in order.
func files(dir string) ([]string, error) {
	list := []string{}
	err := filepath.WalkDir(dir, func(place string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == unfinished {
			return err
		}
		name, err := filepath.Rel(dir, place)
		list = append(list, filepath.ToSlash(name))
		return err
	})
	return list, err
}
