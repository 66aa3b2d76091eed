//go:build unix

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sim/scenarios"
	"sim/scenarios/result"
)

// writeBadFiles writes files and directories to dir that invalid input can name: files that
// are not scenarios, and damaged copies of the runs and sweeps in whole.
func writeBadFiles(t *testing.T, dir, whole string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(path), 0o777))
		must(os.WriteFile(path, data, 0o666))
	}

	write("empty.toml", nil)
	write("empty.csv", nil)
	write("full/precious", []byte("mine\n"))
	write("runs.tmp/precious", []byte("mine\n"))
	write("huge.toml", bytes.Repeat([]byte("# a comment that goes on\n"), 200<<10))
	write("long.toml", []byte("name = \""+strings.Repeat("x", 1<<20)+"\"\n"))
	const mega = 1 << 20
	write("longkey.toml", []byte(strings.Repeat("x", mega)+" = 1\n"))
	write("longtable.toml", []byte("["+strings.Repeat("x", mega)+"]\na = 1\n"))
	write("longvalue.toml", []byte("base = \"gpt7b\"\nworkload.model = \""+strings.Repeat("\u00e9\u202e", mega/5)+"\"\n"))
	write("longlist.toml", []byte("base = \"gpt7b\"\npolicy.allocators = ["+strings.Repeat("1, ", mega/4)+"]\n"))
	write("manykeys.toml", []byte(manyKeys(200)))
	write("nul.toml", make([]byte, 100))
	write("binary.toml", []byte("\x7fELF\x02\x01\x01\x00\xff\xfe"))
	write("utf16.toml", []byte("\xff\xfen\x00a\x00m\x00e\x00"))
	write("deep.toml", []byte("a = "+strings.Repeat("[", 1<<16)))
	write("tables.toml", []byte(strings.Repeat("[[b]]\n", 200_000)))
	write("dots.toml", []byte(strings.Repeat("a.", 1<<16)+"b = 1\n"))
	write("megabyte.csv", []byte(strings.Repeat("1,", 1<<19)+"\n"))
	write("huge.csv", bytes.Repeat([]byte("1,2,3\n"), 1<<20))
	write("jobs-back.csv", []byte("0,20,T3D,4x4x8,128,60\n1,10,T3D,4x4x8,128,60\n"))
	write("jobs-cut.csv", []byte("0,10,T3D,4x4x8,128,60\n1,20,T3D,4x4\n"))
	write("faults-back.json", []byte("[{\"node_id\": \"a\", \"event_time\": 2, \"event_type\": \"fault_start\"},\n{\"node_id\": \"a\", \"event_time\": 1, \"event_type\": \"fault_end\"}]\n"))
	write("megabyte.txt", []byte(strings.Repeat("a", 1<<20)+" b\n"))
	write("zeros", make([]byte, 1<<16))
	write("secret", []byte("password = "+secretWord+"\n"+secretWord+" "+secretWord+","+secretWord+"\n"))
	write("secret.csv", []byte("0,"+secretWord+"\n"+secretWord+",0\n"))
	write("secret.json", []byte("{\""+secretWord+"\": \""+secretWord+"\"}\n"))
	for _, ending := range []string{".toml", ".bench"} {
		must(os.Symlink("loop"+ending, filepath.Join(dir, "loop"+ending)))
		must(os.Symlink("/dev/zero", filepath.Join(dir, "zero"+ending)))
		must(os.Symlink("/dev/urandom", filepath.Join(dir, "random"+ending)))
		must(syscall.Mkfifo(filepath.Join(dir, "pipe"+ending), 0o666))
	}
	write("sparse.toml", nil)
	must(os.Truncate(filepath.Join(dir, "sparse.toml"), 1<<40))
	write("sparse.bench", nil)
	must(os.Truncate(filepath.Join(dir, "sparse.bench"), 1<<40))

	run := func(name, of string, change func(at string)) {
		must(os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(whole, of))))
		if change != nil {
			change(filepath.Join(dir, name))
		}
	}
	// replaced is a change of one file.
	replaced := func(file, text string) func(string) {
		return func(at string) { must(os.WriteFile(filepath.Join(at, file), []byte(text), 0o666)) }
	}
	edited := func(file string, edit func(map[string]any)) func(string) {
		return func(at string) {
			data, err := os.ReadFile(filepath.Join(at, file))
			must(err)
			var doc map[string]any
			must(json.Unmarshal(data, &doc))
			edit(doc)
			data, err = json.Marshal(doc)
			must(err)
			must(os.WriteFile(filepath.Join(at, file), data, 0o666))
		}
	}
	for _, file := range []string{"manifest.json", "result.json", "timings.json", "detail.json", "scenario.toml", "metrics.bench"} {
		short, _, _ := strings.Cut(file, ".")
		if file == "metrics.bench" {
			short = "bench"
		}
		run("no-"+short, "pods", func(at string) { must(os.Remove(filepath.Join(at, file))) })
		run("empty-"+short, "pods", replaced(file, ""))
		run("dir-"+short, "pods", func(at string) {
			must(os.Remove(filepath.Join(at, file)))
			must(os.Mkdir(filepath.Join(at, file), 0o777))
		})
		run("device-"+short, "pods", func(at string) {
			must(os.Remove(filepath.Join(at, file)))
			must(os.Symlink("/dev/zero", filepath.Join(at, file)))
		})
		run("pipe-"+short, "pods", func(at string) {
			must(os.Remove(filepath.Join(at, file)))
			must(syscall.Mkfifo(filepath.Join(at, file), 0o666))
		})
		run("sparse-"+short, "pods", func(at string) { must(os.Truncate(filepath.Join(at, file), 1<<40)) })
		if strings.HasSuffix(file, ".json") {
			run("cut-"+short, "pods", func(at string) {
				info, err := os.Stat(filepath.Join(at, file))
				must(err)
				must(os.Truncate(filepath.Join(at, file), info.Size()/2))
			})
			run("list-"+short, "pods", replaced(file, "[]"))
			run("number-"+short, "pods", replaced(file, "7"))
			run("twice-"+short, "pods", func(at string) {
				data, err := os.ReadFile(filepath.Join(at, file))
				must(err)
				must(os.WriteFile(filepath.Join(at, file), append(data, data...), 0o666))
			})
		}
	}
	run("pods", "pods", nil)
	run("torus", "torus", nil)
	run("schema-manifest", "pods", edited("manifest.json", func(m map[string]any) { m["schema"] = "sim.run/9\x1b[2J" }))
	run("schema-result", "pods", edited("result.json", func(m map[string]any) { m["schema"] = strings.Repeat("x", 1<<20) }))
	row := func(m map[string]any) map[string]any { return m["rows"].([]any)[0].(map[string]any) }
	run("huge-number", "pods", edited("result.json", func(m map[string]any) { row(m)["metrics"].(map[string]any)["nct"] = json.Number("1e999") }))
	run("long-number", "pods", edited("result.json", func(m map[string]any) {
		row(m)["metrics"].(map[string]any)["nct"] = json.Number(strings.Repeat("9", 1<<20))
	}))
	run("text-number", "pods", edited("result.json", func(m map[string]any) { row(m)["metrics"].(map[string]any)["nct"] = "\x1b[2J" }))
	run("no-policy", "pods", edited("result.json", func(m map[string]any) { row(m)["policy"] = "" }))
	run("same-policy", "pods", edited("result.json", func(m map[string]any) { m["rows"] = []any{row(m), row(m)} }))
	first := func(m map[string]any) map[string]any { return m["policies"].([]any)[0].(map[string]any) }
	run("back-in-time", "pods", edited("detail.json", func(m map[string]any) {
		first(m)["demand"] = []any{map[string]any{"name": "a\x1b[2J\nb", "time_s": []int{2, 1}, "value": []int{0, 0}}}
	}))
	run("ragged", "pods", edited("detail.json", func(m map[string]any) {
		first(m)["demand"] = []any{map[string]any{"name": strings.Repeat("long", 1<<18), "time_s": []int{1}, "value": []int{}}}
	}))
	run("pairless", "pods", edited("detail.json", func(m map[string]any) {
		first(m)["topology"] = map[string]any{"pods": []any{}, "pairs": []any{map[string]any{"a": -1, "b": 1 << 40}}}
	}))
	run("torus-bad", "torus", edited("detail.json", func(m map[string]any) {
		first(m)["lattice"] = map[string]any{"dims": []int{1 << 20, 1 << 20, 1 << 40}}
	}))
	run("torus-link", "torus", edited("detail.json", func(m map[string]any) {
		first(m)["lattice"] = map[string]any{"dims": []int{2}, "links": []any{map[string]any{"from": 7}}}
	}))
	unsummed := edited("manifest.json", func(m map[string]any) { delete(m, "sha256") }) // without checksums; they are optional
	run("no-simulation", "pods", func(at string) {
		unsummed(at)
		edited("detail.json", func(m map[string]any) { m["policies"] = []any{} })(at)
	})
	metric := func(name string, v any) func(string) {
		return edited("result.json", func(m map[string]any) { row(m)["metrics"].(map[string]any)[name] = v })
	}
	run("changed-result", "pods", metric("nct", 2))
	run("changed-bench", "pods", replaced("metrics.bench", "Unit nct assume=exact\nBenchmarkSim/policy=a 1 2 nct\n"))
	run("negative-nct", "pods", metric("nct", -0.5))
	run("negative-time", "pods", func(at string) {
		unsummed(at)
		metric("makespan_s", -1)(at)
	})
	run("negative-wall", "pods", edited("timings.json", func(m map[string]any) {
		for _, t := range m["policies"].(map[string]any) {
			t.(map[string]any)["solve_s"] = -1
		}
	}))

	// Gigabytes in a few megabytes; of other shapes result's TestBombs.
	for name, of := range map[string][2]string{
		"bomb-space": {"", " "}, "bomb-text": {`{"title":"`, "a"}, "bomb-lists": {`{"later":`, "["}, "bomb-policies": {`{"policies":[`, "{},"},
	} {
		run(name, "pods", func(at string) {
			must(os.Remove(filepath.Join(at, result.DetailFile)))
			block := gzipBytes(strings.Repeat(of[1], 1<<20/len(of[1])))
			must(os.WriteFile(filepath.Join(at, result.DetailGzip), append(gzipBytes(of[0]), bytes.Repeat(block, 3<<10)...), 0o666))
		})
	}
	run("not-gzip", "pods", replaced(result.DetailGzip, "plain"))
	run("cut-gzip", "pods", func(at string) {
		data := gzipBytes(`{"title": "` + strings.Repeat("a", 1000) + `"}`)
		must(os.WriteFile(filepath.Join(at, result.DetailGzip), data[:len(data)-9], 0o666))
	})
	run("rows", "pods", replaced(result.ResultFile, `{"schema": "sim.result/1", "rows": [`+strings.Repeat("{},", 4<<20)+"{}]}"))
	run("labels", "pods", replaced(result.ResultFile, `{"schema": "sim.result/1", "rows": [{"policy": "a", "labels": {"a": "`+strings.Repeat("b", 20<<20)+`"}}]}`))

	sweepFiles := func(name string, change func(at string)) { run(name, "sweep", change) }
	sweepFiles("swept", nil)
	sweepFiles("swept-unfinished", func(at string) { must(os.Remove(filepath.Join(at, result.SweepFile))) })
	sweepFiles("swept-cut", func(at string) { must(os.Truncate(filepath.Join(at, result.SweepFile), 100)) })
	sweepFiles("swept-outside", edited(result.SweepFile, func(m map[string]any) {
		m["cells"].([]any)[0].(map[string]any)["at"] = []int{1 << 40}
	}))
	sweepFiles("swept-negative", edited(result.SweepFile, func(m map[string]any) {
		m["cells"].([]any)[0].(map[string]any)["metrics"].(map[string]any)["nct"] = -1
	}))
	sweepFiles("swept-axes", edited(result.SweepFile, func(m map[string]any) { m["axes"] = []any{} }))
	sweepFiles("swept-cells", replaced(result.SweepFile, `{"schema": "sim.sweep/1", "cells": [`+strings.Repeat("{},", 4<<20)+"{}]}"))
	sweepFiles("swept-plots", replaced(result.PlotsFile, "{}"))
	sweepFiles("swept-plan", func(at string) {
		must(os.Remove(filepath.Join(at, result.SweepFile)))
		must(os.WriteFile(filepath.Join(at, result.PlanFile), []byte("{}"), 0o666))
	})
}

// secretWord is part of files that are not scenarios. No error message may quote it.
const secretWord = "hunter2"

// manyKeys returns n lines with keys that no scenario has.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%d = %d\n", i, i)
	}
	return b.String()
}

func gzipBytes(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // writing to a Buffer does not fail
	z.Close()
	return b.Bytes()
}

// makeRuns creates the valid results "pods", "torus" and "sweep" and returns their directory.
func makeRuns(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range [][]string{
		{"run", "gpt7b", "--out", filepath.Join(dir, "pods")},
		{"run", "twisted", "--out", filepath.Join(dir, "torus")},
		{"sweep", "gpt7b", "--out", filepath.Join(dir, "sweep"), "--policy", "prop-alloc", "--set", "seed=1,2"},
	} {
		c, _, stderr := newBufferedCommand()
		c.run = scenarios.Run
		if code := c.main(context.Background(), append([]string{"sim"}, append(args, "--no-plots")...)); code != exitOK {
			t.Fatal(stderr)
		}
	}
	return dir
}
