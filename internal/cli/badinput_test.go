//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// badInputs lists the tables of invalid input in testdata/badinput. A line that begins with an
// exit code is a case:
//
//	2 check x.toml => x.toml:3: workload.tp: is missing
//
// On the left are the arguments of sim as in a shell, except that double quotes contain Go
// escapes; on the right is a part of a line of stderr. Further lines that begin with "&" are
// further parts. A line that ends with a colon begins a file for the cases of its section; the
// lines of the file are indented by a tab. "==" begins a section. Other files that cases name
// are created by writeBadFiles.
var badInputs = []string{"toml", "values", "kinds", "files", "flags", "results", "sweeps", "others", "moves", "measurements", "queue"}

// Bounds of what unusable input may cost.
const (
	// Limits for the resources of invalid input: processor time, memory, and the length of a
	// message line.
	maxBadInputTime     = 10 * time.Second
	maxBadInputBytes    = 512 << 20
	maxMessageLineBytes = 500
)

// badCase is a command that must be rejected.
type badCase struct {
	location string // file and line of the table
	code     int
	args     []string
	want     []string          // parts of lines of stderr
	files    map[string]string // in addition to the files of writeBadFiles
}

// TestBadInput runs every case. The exit code equals the one in the table, stderr has one
// printable line of limited length per diagnostic, no file is written, and processor time and
// memory stay below their limits.
func TestBadInput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the command some seven hundred times")
	}
	t.Parallel()
	var cases []badCase
	for _, name := range badInputs {
		cases = append(cases, readBadCases(t, name)...)
	}
	if len(cases) < 500 {
		t.Errorf("%d cases are too few", len(cases))
	}
	runBadCases(t, cases)
}

// maxConcurrentCases is the number of cases after which the directory is compared with its
// original state. The comparison takes longer than most cases.
const maxConcurrentCases = 16

// runBadCases runs cases, as many in parallel as there are processors.
func runBadCases(t *testing.T, cases []badCase) {
	whole := makeRuns(t)
	todo := make(chan []badCase)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		root := t.TempDir()
		wg.Go(func() {
			s := &runner{t: t}
			defer s.stop()
			var dir string
			var before map[string]fileContent
			try := func(some []badCase) (changed string) {
				if before == nil {
					dir = filepath.Join(root, strings.ReplaceAll(some[0].location, "/", "-"))
					writeBadFiles(t, dir, whole)
					before = readContents(t, dir)
				}
				for _, c := range some {
					c.run(t, s, dir)
				}
				if changed = fileChanges(before, readContents(t, dir)); changed != "" {
					before = nil // compare the next cases with a new state
				}
				return changed
			}
			for some := range todo {
				if changed := try(some); changed != "" {
					for i := range some { // find the case that changed the directory
						if changed := try(some[i : i+1]); changed != "" {
							t.Errorf("%s: sim %s: written: %s", some[i].location, strings.Join(some[i].args, " "), changed)
						}
					}
					t.Errorf("%s to %s: written: %s", some[0].location, some[len(some)-1].location, changed)
				}
			}
		})
	}
	for some := range slices.Chunk(cases, maxConcurrentCases) {
		todo <- some
	}
	close(todo)
	wg.Wait()
}

// diagnostic matches the start of a message line: the program name, or a file with line or
// key.
var diagnostic = regexp.MustCompile(`^(sim: |[^ :]+(:[0-9]+)?: |"[^"]+": )[^ ]`)

// run runs a case in dir and compares the result with the table.
func (c *badCase) run(t *testing.T, s *runner, dir string) {
	for name, text := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Error(err)
		}
	}
	defer func() {
		for name := range c.files {
			os.Remove(filepath.Join(dir, name))
		}
	}()
	got := s.run(dir, c.args)
	stderr := string(got.Stderr)
	fail := func(format string, args ...any) {
		t.Errorf("%s: sim %s: %s\n%.2000s", c.location, strings.Join(c.args, " "), fmt.Sprintf(format, args...), stderr)
	}
	if got.err != nil {
		fail("%v", got.err)
		return
	}
	if got.Code != c.code {
		fail("exit code %d, want %d", got.Code, c.code)
	}
	if got.Used > maxBadInputTime { // processor time, because other processes may use the machine
		fail("took %v", got.Used)
	}
	for _, want := range c.want {
		if !strings.Contains(stderr, want) {
			fail("want %s", want)
		}
	}
	for text := range strings.Lines(stderr) {
		line, ended := strings.CutSuffix(text, "\n")
		switch {
		case !ended || !diagnostic.MatchString(line):
			fail("no diagnostic: %.200q", line)
		case strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line):
			fail("not printable: %.200q", line)
		case len(line) > maxMessageLineBytes:
			fail("a line of %d bytes", len(line))
		case strings.Contains(line, "goroutine ") || strings.Contains(line, "panic"):
			fail("a panic")
		}
	}
	if stderr == "" {
		fail("no word")
	}
	if strings.Contains(stderr, secretWord) {
		fail("quotes a file that is no scenario")
	}
}

// fileChanges lists the differences between two states of a directory.
func fileChanges(before, after map[string]fileContent) string {
	var changed []string
	for name := range after {
		if after[name] != before[name] && name != "" {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}

// fileContent identifies the content of a file. For directories only the mode is compared.
type fileContent struct {
	mode fs.FileMode
	size int64
	at   int64 // modification time
}

// readContents returns the state of all files below a directory.
func readContents(t *testing.T, dir string) map[string]fileContent {
	found := map[string]fileContent{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		c := fileContent{mode: info.Mode()}
		if !d.IsDir() {
			c.size, c.at = info.Size(), info.ModTime().UnixNano()
		}
		found[strings.TrimPrefix(path[len(dir):], "/")] = c
		return nil
	}); err != nil {
		t.Error(err)
	}
	return found
}

// readBadCases reads a table of cases.
func readBadCases(t *testing.T, name string) (cases []badCase) {
	t.Helper()
	path := filepath.Join("testdata", "badinput", name+".txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, open := map[string]string{}, ""
	at := 0
	for line := range strings.Lines(string(data)) {
		at++
		line = strings.TrimSuffix(line, "\n")
		place := fmt.Sprintf("%s:%d", path, at)
		text, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" && open != "":
			open = ""
		case indented && open != "":
			files = maps.Clone(files)
			files[open] += text + "\n"
		case line == "" || line[0] == '#':
		case line == "==":
			files = map[string]string{}
		case strings.HasPrefix(line, "& ") && len(cases) > 0:
			last := &cases[len(cases)-1]
			last.want = append(last.want, line[2:])
		case line[0] >= '0' && line[0] <= '9':
			open = ""
			command, want, ok := strings.Cut(line, " => ")
			code, rest, _ := strings.Cut(command, " ")
			n, err := strconv.Atoi(code)
			args, bad := splitWords(rest)
			if err != nil || bad != "" || !ok {
				t.Fatalf("%s: no case: %s %s", place, line, bad)
			}
			cases = append(cases, badCase{place, n, args, []string{want}, files})
		case strings.HasSuffix(line, ":"):
			open = strings.TrimSuffix(line, ":")
			files = maps.Clone(files)
			files[open] = ""
		default:
			t.Fatalf("%s: neither a case nor a file: %s", place, line)
		}
	}
	return cases
}

// splitWords splits a line into words as a shell does. Text in single quotes is literal; text
// in double quotes has Go escapes.
func splitWords(line string) (list []string, bad string) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word := ""
		for line != "" && line[0] != ' ' {
			switch line[0] {
			case '\'':
				inside, rest, ok := strings.Cut(line[1:], "'")
				if !ok {
					return nil, "a quote is not closed"
				}
				word, line = word+inside, rest
			case '"':
				quoted, err := strconv.QuotedPrefix(line)
				if err != nil {
					return nil, "a quote is not closed"
				}
				text, err := strconv.Unquote(quoted)
				if err != nil {
					return nil, err.Error()
				}
				word, line = word+text, line[len(quoted):]
			default:
				end := strings.IndexAny(line+" ", ` '"`)
				word, line = word+line[:end], line[end:]
			}
		}
		list = append(list, word)
	}
	return list, ""
}
