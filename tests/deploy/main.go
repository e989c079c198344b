// Command deploy checks the files in deploy/ by the code of the programs that read them, without these programs: the
// compose file as docker compose loads it, with and without its profile, and the manifests as kubectl -k builds them,
// each decoded strictly into the type of its API version.
//
//	deploy COMPOSE_FILE KUSTOMIZATION...
//
// It is a module of its own, so that its dependencies are not those of Frontpage.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: deploy COMPOSE_FILE KUSTOMIZATION...")
		os.Exit(2)
	}
	failed := false
	report := func(name string, err error) {
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
	}
	for _, profiles := range [][]string{nil, {"metrics"}} {
		report(os.Args[1], compose(os.Args[1], profiles))
	}
	for _, folder := range os.Args[2:] {
		report(folder, kubernetes(folder))
	}
	if failed {
		os.Exit(1)
	}
}

// compose loads the file as docker compose does, and prints the services of the profiles.
func compose(file string, profiles []string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithProfiles(profiles), cli.WithConsistency(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	for name, service := range project.Services {
		if !service.ReadOnly {
			continue
		}
		for _, config := range service.Configs {
			if project.Configs[config.Source].File == "" {
				return fmt.Errorf("docker compose cannot copy the config %s into the read-only service %s", config.Source, name)
			}
		}
		for _, secret := range service.Secrets {
			if project.Secrets[secret.Source].File == "" {
				return fmt.Errorf("docker compose cannot copy the secret %s into the read-only service %s", secret.Source, name)
			}
		}
	}
	fmt.Println(file, profiles, "services:", project.ServiceNames())
	return nil
}

// kubernetes builds the manifests, and prints each after it was decoded.
func kubernetes(folder string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	manifests, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	for _, manifest := range manifests.Resources() {
		text, err := manifest.AsYAML()
		if err != nil {
			return err
		}
		if _, _, err := decoder.Decode(text, nil, nil); err != nil {
			return fmt.Errorf("%s: %w", manifest.CurId(), err)
		}
		fmt.Println(folder, manifest.CurId())
	}
	return nil
}
