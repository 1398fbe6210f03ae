# tardy for Nix: nix-build -E 'with import <nixpkgs> { }; callPackage ./package.nix { src = ./tardy-0.2.0.tar.gz; }'
# `src` is the archive of the sources that `make dist` leaves: it contains the report's page, so npm is not needed.
{ lib, rustPlatform, installShellFiles, src }:
rustPlatform.buildRustPackage {
  pname = "tardy";
  version = "0.2.0";
  inherit src;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "--package" "tardy" "--package" "tardy-meter" ];
  # The tests measure and trace this machine as root.
  doCheck = false;
  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    $out/bin/tardy man --dir man
    installManPage man/*.1
    for shell in bash fish zsh; do $out/bin/tardy completions $shell > tardy.$shell; done
    installShellCompletion tardy.{bash,fish,zsh}
  '';
  meta = {
    description = "Measures how late Linux wakes tasks, and explains why";
    license = with lib.licenses; [ asl20 mit ];
    platforms = lib.platforms.linux;
    mainProgram = "tardy";
  };
}
