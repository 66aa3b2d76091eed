package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestClusters runs the files in docs/examples as Slurm and Kubernetes would. A single process
// gives the same results.
func TestClusters(t *testing.T) {
	dir := t.TempDir()
	study := filepath.Join(dir, "small.toml")
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "sim"), "#!/bin/sh\nexec truesim \"$@\"\n")
	write(study, "base = \"gpt7b\"\nname = \"small\"\nworkload.microbatches = 2\npolicy.allocators = [\"prop-alloc\", \"sqrt-alloc\"]\n[sweep]\nseed = \"1..8\"\n")
	command := func(env []string, name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")}, env)
		return cmd
	}
	run := func(cmds ...*exec.Cmd) {
		t.Helper()
		output := make([]bytes.Buffer, len(cmds))
		for i, cmd := range cmds {
			cmd.Stdout, cmd.Stderr = &output[i], &output[i]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, &output[i])
			}
		}
	}
	result := func(of string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, of, "sweep.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	run(command(nil, filepath.Join(dir, "sim"), "sweep", study, "--no-plots", "--out", "alone"))
	want := result("alone")

	var tasks []*exec.Cmd
	script, err := filepath.Abs("../../docs/examples/sweep.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	for id := 1; id <= 3; id++ {
		tasks = append(tasks, command([]string{fmt.Sprint("SLURM_ARRAY_TASK_ID=", id), "SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_CPUS_PER_TASK=1"},
			"sh", script, study, "array"))
	}
	run(tasks...)
	if result("array") != want {
		t.Error("sweep.sbatch makes another sweep")
	}

	manifest, err := os.ReadFile("../../docs/examples/sweep-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Containers []struct {
						Command []string
						Mounts  []struct{ Name, MountPath string } `yaml:"volumeMounts"`
					}
					Volumes []struct{ Name string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(manifest), "mountPath", "mountpath")), &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Spec.Completions != job.Spec.Parallelism || len(pod.Containers) != 1 ||
		len(pod.Containers[0].Mounts) != 1 || len(pod.Volumes) != 1 || pod.Volumes[0].Name != pod.Containers[0].Mounts[0].Name {
		t.Fatalf("sweep-job.yaml: %+v", job)
	}
	args := slices.Clone(pod.Containers[0].Command)
	at := pod.Containers[0].Mounts[0].MountPath
	if !slices.Contains(args, "--join") || !slices.Contains(args, at) {
		t.Fatalf("sweep-job.yaml: a volume at %s, but %q", at, args)
	}
	for i, arg := range args {
		switch arg {
		case at:
			args[i] = "pods"
		case "delta-fig6":
			args[i] = study
		}
	}
	var pods []*exec.Cmd
	for range job.Spec.Completions {
		pods = append(pods, command(nil, filepath.Join(dir, args[0]), args[1:]...))
	}
	run(pods...)
	if result("pods") != want {
		t.Error("sweep-job.yaml makes another sweep")
	}
}
